// api/compute/eltwise_unary/prelu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot1 prelu_tile;
}

TTL_PLAIN_INIT(prelu_tile_init)
TTL_OF_SLOT1(prelu_tile)

}  // namespace ckernel
