#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_tilize(uint32_t in, uint32_t tiles, int line);
void end_tilize();
void tilize(
    uint32_t in, uint32_t tiles, uint32_t out, uint32_t in_tile, uint32_t out_tile, int line);
}  // namespace detail

ALWI void tilize_init(
    uint32_t icb, uint32_t block, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_tilize(icb, block, static_cast<int>(call_line));
}

ALWI void tilize_block(
    uint32_t icb,
    uint32_t block,
    uint32_t ocb,
    uint32_t input_tile_index = 0,
    uint32_t output_tile_index = 0,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, block, 1, icb, ocb);
  detail::tilize(icb, block, ocb, input_tile_index, output_tile_index, line);
}

ALWI void tilize_uninit(
    uint32_t icb, uint32_t ocb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::end_tilize();
}

}  // namespace ckernel
