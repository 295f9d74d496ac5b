#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(log1p_tile_init, TTL_APPROXIMATE(false))

TTL_OF_SLOT(log1p_tile, TTL_APPROXIMATE(false))
