#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(div_int32_floor_tile_init)
TTL_VECTOR_INIT(div_int32_trunc_tile_init)
TTL_OF_SLOTS(div_int32_floor_tile)
TTL_OF_SLOTS(div_int32_trunc_tile)
