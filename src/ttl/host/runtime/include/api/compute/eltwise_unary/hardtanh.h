// api/compute/eltwise_unary/hardtanh.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot2 hardtanh_tile;
}

TTL_PLAIN_INIT(hardtanh_tile_init)
TTL_OF_SLOT2(hardtanh_tile)

}  // namespace ckernel
