#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(sqrt_tile_init)

TTL_OF_SLOT(sqrt_tile, TTL_APPROXIMATE(false))
