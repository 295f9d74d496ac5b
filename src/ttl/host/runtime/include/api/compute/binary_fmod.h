// api/compute/binary_fmod.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlots fmod_binary_tile, fmod_int32_tile;
}

TTL_VECTOR_INIT(fmod_binary_tile_init)
TTL_VECTOR_INIT(fmod_int32_tile_init)
TTL_WIDE TTL_OF_SLOTS(fmod_binary_tile)
TTL_OF_SLOTS(fmod_int32_tile)

}  // namespace ckernel
