// api/compute/eltwise_unary/negative.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot negative_tile, negative_tile_int32;
}

TTL_PLAIN_INIT(negative_tile_init)
TTL_OF_SLOT(negative_tile)
TTL_OF_SLOT(negative_tile_int32)

}  // namespace ckernel
