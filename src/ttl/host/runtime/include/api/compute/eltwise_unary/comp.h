// api/compute/eltwise_unary/comp.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot eqz_tile, nez_tile, ltz_tile, lez_tile, gtz_tile, gez_tile;
OfSlot eqz_tile_int32, nez_tile_int32, ltz_tile_int32;
OfSlot lez_tile_int32, gtz_tile_int32, gez_tile_int32;
OfSlot eqz_tile_uint16, nez_tile_uint16, eqz_tile_uint32, nez_tile_uint32;
OfSlot1 unary_eq_tile, unary_ne_tile, unary_lt_tile;
OfSlot1 unary_le_tile, unary_gt_tile, unary_ge_tile;
OfSlot1 unary_eq_tile_int32, unary_ne_tile_int32, unary_lt_tile_int32;
OfSlot1 unary_le_tile_int32, unary_gt_tile_int32, unary_ge_tile_int32;
}  // namespace detail

TTL_PLAIN_INIT(eqz_tile_init)
TTL_OF_SLOT(eqz_tile)
TTL_OF_SLOT(eqz_tile_int32)
TTL_PLAIN_INIT(nez_tile_init)
TTL_OF_SLOT(nez_tile)
TTL_OF_SLOT(nez_tile_int32)
TTL_PLAIN_INIT(ltz_tile_init)
TTL_OF_SLOT(ltz_tile)
TTL_OF_SLOT(ltz_tile_int32)
TTL_PLAIN_INIT(lez_tile_init)
TTL_OF_SLOT(lez_tile)
TTL_OF_SLOT(lez_tile_int32)
TTL_PLAIN_INIT(gtz_tile_init)
TTL_OF_SLOT(gtz_tile)
TTL_OF_SLOT(gtz_tile_int32)
TTL_PLAIN_INIT(gez_tile_init)
TTL_OF_SLOT(gez_tile)
TTL_OF_SLOT(gez_tile_int32)
TTL_OF_SLOT(eqz_tile_uint16)
TTL_OF_SLOT(nez_tile_uint16)
TTL_OF_SLOT(eqz_tile_uint32)
TTL_OF_SLOT(nez_tile_uint32)

TTL_PLAIN_INIT(unary_eq_tile_init)
TTL_OF_SLOT1(unary_eq_tile)
TTL_OF_SLOT1(unary_eq_tile_int32)
TTL_PLAIN_INIT(unary_ne_tile_init)
TTL_OF_SLOT1(unary_ne_tile)
TTL_OF_SLOT1(unary_ne_tile_int32)
TTL_PLAIN_INIT(unary_lt_tile_init)
TTL_OF_SLOT1(unary_lt_tile)
TTL_OF_SLOT1(unary_lt_tile_int32)
TTL_PLAIN_INIT(unary_le_tile_init)
TTL_OF_SLOT1(unary_le_tile)
TTL_OF_SLOT1(unary_le_tile_int32)
TTL_PLAIN_INIT(unary_gt_tile_init)
TTL_OF_SLOT1(unary_gt_tile)
TTL_OF_SLOT1(unary_gt_tile_int32)
TTL_PLAIN_INIT(unary_ge_tile_init)
TTL_OF_SLOT1(unary_ge_tile)
TTL_OF_SLOT1(unary_ge_tile_int32)

}  // namespace ckernel
