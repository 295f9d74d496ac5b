// api/compute/common_globals.h: what every compute header builds on.
#pragma once

#include <cstdint>

#define ALWI inline __attribute__((always_inline))

// On the chip the kernel is compiled once for each of three processors and these select one; here
// one fiber does the work of all three, in program order.
#define MATH(...) __VA_ARGS__
#define PACK(...) __VA_ARGS__
#define UNPACK(...) __VA_ARGS__

namespace ckernel {

enum class VectorMode : std::uint8_t {
  None = 0,
  R = 1,
  C = 2,
  RC = 4,
  RC_custom = 6,
  Invalid = 0xFF,
};

enum class DstRoundingMode : std::uint8_t {
  Default = 0,
  NearestEven = 1,
};

struct p_sfpu {
  static constexpr std::uint32_t kCONST_1_FP16B = 0x3F80;
};

}  // namespace ckernel
