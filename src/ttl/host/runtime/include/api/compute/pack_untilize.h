#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_untilize(uint32_t in, uint32_t tiles, uint32_t row_tiles, int line);
void end_untilize();
void untilize(uint32_t in, uint32_t out, uint32_t tiles, uint32_t row_tiles, uint32_t block,
              int line);
}  // namespace detail

template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim>
ALWI void pack_untilize_init(uint32_t icb, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_untilize(icb, block_ct_dim, full_ct_dim, static_cast<int>(call_line));
}

// A further row would be packed from the same tiles: the kernel pops between rows.
template <uint32_t block_ct_dim = 8, uint32_t full_ct_dim = block_ct_dim>
ALWI void pack_untilize_block(
    uint32_t icb,
    uint32_t block_rt_dim,
    uint32_t ocb,
    uint32_t block_c_index = 0,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, block_rt_dim * block_ct_dim, 1, icb, ocb);
  for (uint32_t row = 0; row < block_rt_dim; ++row)
    detail::untilize(icb, ocb, block_ct_dim, full_ct_dim, block_c_index, line);
}

ALWI void pack_untilize_uninit(uint32_t ocb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::end_untilize();
}

}  // namespace ckernel
