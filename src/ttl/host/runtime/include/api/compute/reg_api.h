#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void acquire_registers(int line);
void await_registers(int line);
void hold_registers(int line);
void commit_registers(int line);
void release_registers(int line);
void release_held_registers(int line);
}  // namespace detail

ALWI void tile_regs_acquire(int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::acquire_registers(line);
}

ALWI void tile_regs_wait(int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::await_registers(line);
}

ALWI void acquire_dst(int line = __builtin_LINE()) {  // deprecated in 0.81
  TTL_COMPUTES(line);
  detail::hold_registers(line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void tile_regs_commit(int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::commit_registers(line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void tile_regs_release(int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::release_registers(line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void release_dst(int line = __builtin_LINE()) {  // deprecated in 0.81
  TTL_COMPUTES(line);
  detail::release_held_registers(line);
}

}  // namespace ckernel
