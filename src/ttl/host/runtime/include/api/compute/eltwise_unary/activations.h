#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(hardsigmoid_tile_init)
TTL_VECTOR_INIT(softsign_tile_init)
TTL_PLAIN_INIT(celu_tile_init)
TTL_PLAIN_INIT(softshrink_tile_init)
TTL_PLAIN_INIT(hardshrink_tile_init)

TTL_OF_SLOT(hardsigmoid_tile)
TTL_OF_SLOT(softsign_tile)
TTL_OF_SLOT2(celu_tile, TTL_WIDE)
TTL_OF_SLOT1(softshrink_tile)
TTL_OF_SLOT1(hardshrink_tile)
