#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

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
