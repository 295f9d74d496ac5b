// api/compute/eltwise_unary/gelu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlot gelu_tile, gelu_tanh_tile;
}

// Approximation is not modelled: every mode computes the function.
template <bool fast_and_approx = true, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_VECTOR_INIT(gelu_tile_init)

template <bool fast_and_approx = true, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
TTL_OF_SLOT(gelu_tile)

template <bool fast = false>
TTL_VECTOR_INIT(gelu_tanh_tile_init)

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE, bool fast = false>
TTL_OF_SLOT(gelu_tanh_tile)

}  // namespace ckernel
