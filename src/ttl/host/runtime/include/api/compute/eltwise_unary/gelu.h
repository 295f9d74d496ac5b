#pragma once

#include "api/compute/common_globals.h"

// Approximation is not modelled: every mode computes the function.
TTL_VECTOR_INIT(gelu_tile_init, TTL_APPROXIMATE(true))
TTL_OF_SLOT(gelu_tile, TTL_APPROXIMATE(true))

TTL_VECTOR_INIT(gelu_tanh_tile_init, template <bool fast = false>)
TTL_OF_SLOT(gelu_tanh_tile, template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE, bool fast = false>)
