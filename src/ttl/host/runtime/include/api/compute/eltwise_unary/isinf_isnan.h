#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(isinf_tile_init)
TTL_OF_SLOT(isinf_tile)
TTL_PLAIN_INIT(isposinf_tile_init)
TTL_OF_SLOT(isposinf_tile)
TTL_PLAIN_INIT(isneginf_tile_init)
TTL_OF_SLOT(isneginf_tile)
TTL_PLAIN_INIT(isnan_tile_init)
TTL_OF_SLOT(isnan_tile)
TTL_PLAIN_INIT(isfinite_tile_init)
TTL_OF_SLOT(isfinite_tile)
