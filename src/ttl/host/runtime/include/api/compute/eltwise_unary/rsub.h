#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(rsub_tile_init)
TTL_PLAIN_INIT(rsub_unary_int32_tile_init)
TTL_OF_SLOT1(rsub_tile, TTL_WIDE)
TTL_OF_SLOT1(rsub_unary_int32_tile)
