// api/compute/eltwise_unary/identity.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot identity_tile;
}

TTL_PLAIN_INIT(identity_tile_init)
TTL_OF_SLOT(identity_tile)

}  // namespace ckernel
