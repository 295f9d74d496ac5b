// api/compute/div_int32_floor.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlots div_int32_floor_tile, div_int32_trunc_tile;
}

TTL_VECTOR_INIT(div_int32_floor_tile_init)
TTL_VECTOR_INIT(div_int32_trunc_tile_init)
TTL_OF_SLOTS(div_int32_floor_tile)
TTL_OF_SLOTS(div_int32_trunc_tile)

}  // namespace ckernel
