// api/compute/eltwise_unary/binop_with_scalar.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot1 add_unary_tile, sub_unary_tile, mul_unary_tile, div_unary_tile, rsub_unary_tile;
OfSlot1 add_unary_tile_int32, sub_unary_tile_int32;
}  // namespace detail

TTL_PLAIN_INIT(binop_with_scalar_tile_init)
TTL_WIDE TTL_OF_SLOT1(add_unary_tile)
TTL_WIDE TTL_OF_SLOT1(sub_unary_tile)
TTL_WIDE TTL_OF_SLOT1(mul_unary_tile)
TTL_WIDE TTL_OF_SLOT1(div_unary_tile)
TTL_WIDE TTL_OF_SLOT1(rsub_unary_tile)
TTL_OF_SLOT1(add_unary_tile_int32)
TTL_OF_SLOT1(sub_unary_tile_int32)

}  // namespace ckernel
