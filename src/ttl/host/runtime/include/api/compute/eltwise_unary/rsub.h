// api/compute/eltwise_unary/rsub.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot1 rsub_tile, rsub_unary_int32_tile;
}

TTL_PLAIN_INIT(rsub_tile_init)
TTL_PLAIN_INIT(rsub_unary_int32_tile_init)
TTL_WIDE TTL_OF_SLOT1(rsub_tile)
TTL_OF_SLOT1(rsub_unary_int32_tile)

}  // namespace ckernel
