// api/compute/eltwise_unary/cbrt.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot cbrt_tile;
}

TTL_VECTOR_INIT(cbrt_tile_init)
TTL_WIDE TTL_OF_SLOT(cbrt_tile)

}  // namespace ckernel
