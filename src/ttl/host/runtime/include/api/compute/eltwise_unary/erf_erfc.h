// api/compute/eltwise_unary/erf_erfc.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot erf_tile, erfc_tile;
}

template <bool fast_and_approx = true>
TTL_VECTOR_INIT(erf_tile_init)

template <bool fast_and_approx = true>
TTL_OF_SLOT(erf_tile)

TTL_VECTOR_INIT(erfc_tile_init)
TTL_OF_SLOT(erfc_tile)

}  // namespace ckernel
