// Stand-in for the instruction replay interface: declarations only, for syntax checks.
#pragma once

#include <cstdint>

namespace lltt {
enum ExecBool : bool { NoExec = false, Exec = true };
template <ExecBool = NoExec>
inline void record(std::uint32_t, std::uint32_t) {}
inline void replay(std::uint32_t, std::uint32_t) {}
constexpr std::uint32_t replay_insn(std::uint32_t, std::uint32_t) { return 0; }
}  // namespace lltt
