// What a translation unit of kernels defines before it includes the device headers; the runtime
// includes those headers only to be checked against them.
#pragma once

#include <cstdint>

#define DST_ACCUM_MODE false

namespace ttl_unit {
constexpr uint32_t unpack_tile_size[1] = {0};
constexpr uint32_t burst_bytes = 0, l1_alignment = 0, dram_alignment = 0, dram_banks = 0;
}
