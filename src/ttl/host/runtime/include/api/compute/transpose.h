#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_transpose(uint32_t buffer);
void transpose_to_slot(uint32_t buffer, uint32_t tile, uint32_t slot, int line);
}  // namespace detail

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void transpose_init(uint32_t icb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_transpose(icb);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void transpose_tile(
    uint32_t icb, uint32_t itile, uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line, icb);
  detail::transpose_to_slot(icb, itile, idst, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void transpose_block(
    uint32_t icb,
    uint32_t start_itile,
    uint32_t start_idst,
    uint32_t ntiles,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, ntiles, 1, icb);
  for (uint32_t i = 0; i < ntiles; ++i)
    detail::transpose_to_slot(icb, start_itile + i, start_idst + i, line);
}

}  // namespace ckernel
