// api/compute/eltwise_unary/elu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot1 elu_tile;
}

TTL_PLAIN_INIT(elu_tile_init)
TTL_WIDE TTL_OF_SLOT1(elu_tile)

}  // namespace ckernel
