#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(cbrt_tile_init)
TTL_OF_SLOT(cbrt_tile, TTL_WIDE)
