#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(sin_tile_init)
TTL_VECTOR_INIT(cos_tile_init)
TTL_VECTOR_INIT(tan_tile_init)
TTL_VECTOR_INIT(asin_tile_init, TTL_WIDE)
TTL_SHARED_INIT(acos_tile_init, asin_tile_init, TTL_WIDE)
TTL_VECTOR_INIT(atan_tile_init, TTL_WIDE)
TTL_VECTOR_INIT(sinh_tile_init, TTL_WIDE)
TTL_VECTOR_INIT(cosh_tile_init, TTL_WIDE)
TTL_VECTOR_INIT(asinh_tile_init, TTL_WIDE)
TTL_SHARED_INIT(acosh_tile_init, asinh_tile_init, TTL_WIDE)
TTL_VECTOR_INIT(atanh_tile_init, TTL_WIDE)

TTL_OF_SLOT(sin_tile, TTL_WIDE)
TTL_OF_SLOT(cos_tile, TTL_WIDE)
TTL_OF_SLOT(tan_tile, TTL_WIDE)
TTL_OF_SLOT(asin_tile, TTL_WIDE)
TTL_OF_SLOT(acos_tile, TTL_WIDE)
TTL_OF_SLOT(atan_tile, TTL_WIDE)
TTL_OF_SLOT(sinh_tile, TTL_WIDE)
TTL_OF_SLOT(cosh_tile, TTL_WIDE)
TTL_OF_SLOT(asinh_tile, TTL_WIDE)
TTL_OF_SLOT(acosh_tile, TTL_WIDE)
TTL_OF_SLOT(atanh_tile, TTL_WIDE)
