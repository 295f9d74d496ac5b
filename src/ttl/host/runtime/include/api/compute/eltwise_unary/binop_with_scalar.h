#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(binop_with_scalar_tile_init)
TTL_OF_SLOT1(add_unary_tile, TTL_WIDE)
TTL_OF_SLOT1(sub_unary_tile, TTL_WIDE)
TTL_OF_SLOT1(mul_unary_tile, TTL_WIDE)
TTL_OF_SLOT1(div_unary_tile, TTL_WIDE)
TTL_OF_SLOT1(rsub_unary_tile, TTL_WIDE)
TTL_OF_SLOT1(add_unary_tile_int32)
TTL_OF_SLOT1(sub_unary_tile_int32)
