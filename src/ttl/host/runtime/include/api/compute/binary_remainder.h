#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(remainder_binary_tile_init)
TTL_VECTOR_INIT(remainder_int32_tile_init)
TTL_VECTOR_INIT(remainder_uint32_tile_init)
TTL_OF_SLOTS(remainder_binary_tile, TTL_WIDE)
TTL_OF_SLOTS(remainder_int32_tile)
TTL_OF_SLOTS(remainder_uint32_tile)
