#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(mask_tile_init)

namespace ckernel {

// The mask stands in the slot after the data; the second argument is ignored, as on the chip.
void mask_tile(
    uint32_t idst_data,
    uint32_t idst2_mask,
    DataFormat data_format = DataFormat::Float16_b,
    int line = __builtin_LINE());
void mask_posinf_tile(uint32_t idst_data, uint32_t idst2_mask, int line = __builtin_LINE());

}  // namespace ckernel
