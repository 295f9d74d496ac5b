#pragma once

#include "api/compute/common.h"

namespace ckernel {

void tilize_init(
    uint32_t icb, uint32_t block, uint32_t ocb, uint32_t call_line = __builtin_LINE());
void tilize_block(
    uint32_t icb,
    uint32_t block,
    uint32_t ocb,
    uint32_t input_tile_index = 0,
    uint32_t output_tile_index = 0,
    int line = __builtin_LINE());
void tilize_uninit(uint32_t icb, uint32_t ocb);

}  // namespace ckernel
