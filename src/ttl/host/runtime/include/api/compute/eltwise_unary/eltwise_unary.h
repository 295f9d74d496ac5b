#pragma once

#include "api/compute/common.h"
#include "api/compute/tile_move_copy.h"

namespace ckernel {

// Deprecated in 0.81.
template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void unary_op_init_common(uint32_t icb, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(icb, icb, ocb, static_cast<int>(call_line));
  copy_init(icb, 0, 0, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void init_sfpu(uint32_t icb, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  unary_op_init_common(icb, ocb, call_line);
}

}  // namespace ckernel
