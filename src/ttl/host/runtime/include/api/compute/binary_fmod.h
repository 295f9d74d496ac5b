#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(fmod_binary_tile_init)
TTL_VECTOR_INIT(fmod_int32_tile_init)
TTL_OF_SLOTS(fmod_binary_tile, TTL_WIDE)
TTL_OF_SLOTS(fmod_int32_tile)
