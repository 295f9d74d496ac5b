#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(clamp_tile_init)
TTL_OF_SLOT2(clamp_tile)
TTL_OF_SLOT2(clamp_tile_int32)
