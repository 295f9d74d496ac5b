// api/compute/eltwise_unary/selu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot2 selu_tile;
}

TTL_PLAIN_INIT(selu_tile_init)
TTL_WIDE TTL_OF_SLOT2(selu_tile)

}  // namespace ckernel
