#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(mul_int_tile_init, TTL_BY_FORMAT)
TTL_OF_INTEGERS(mul_int_tile)
