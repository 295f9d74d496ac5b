// api/compute/transpose_wh.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include "api/compute/transpose.h"

namespace ckernel {

ALWI void transpose_wh_init_short(
    uint32_t icb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  transpose_init(icb);
}

ALWI void transpose_wh_init(uint32_t icb, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(icb, icb, ocb, static_cast<int>(call_line));
  transpose_init(icb);
}

ALWI void transpose_wh_tile(
    uint32_t icb, uint32_t itile, uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line, icb);
  transpose_tile(icb, itile, idst, line);
}

}  // namespace ckernel
