#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(mask_tile_init)

namespace ckernel {

namespace detail {
void mask_tile(uint32_t slot, DataFormat format, int line);
void mask_posinf_tile(uint32_t slot, int line);
}  // namespace detail

// The mask stands in the slot after the data; the second argument is ignored, as on the chip.
ALWI void mask_tile(
    uint32_t idst_data,
    uint32_t idst2_mask,
    DataFormat data_format = DataFormat::Float16_b,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::mask_tile(idst_data, data_format, line);
}

ALWI void mask_posinf_tile(uint32_t idst_data, uint32_t idst2_mask, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::mask_posinf_tile(idst_data, line);
}

}  // namespace ckernel
