#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(eq_int_tile_init, TTL_BY_FORMAT)
TTL_PLAIN_INIT(ne_int_tile_init, TTL_BY_FORMAT)
TTL_PLAIN_INIT(lt_int_tile_init, TTL_BY_FORMAT)
TTL_PLAIN_INIT(le_int_tile_init, TTL_BY_FORMAT)
TTL_PLAIN_INIT(gt_int_tile_init, TTL_BY_FORMAT)
TTL_PLAIN_INIT(ge_int_tile_init, TTL_BY_FORMAT)

TTL_OF_INTEGERS(eq_int_tile)
TTL_OF_INTEGERS(ne_int_tile)
TTL_OF_INTEGERS(lt_int_tile)
TTL_OF_INTEGERS(le_int_tile)
TTL_OF_INTEGERS(gt_int_tile)
TTL_OF_INTEGERS(ge_int_tile)
