#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

// The divisor and its reciprocal, as the bits of floats.
ALWI void remainder_tile_init(
    uint32_t param0, uint32_t param1, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::begin_vector("remainder_tile_init", param0);
}

}  // namespace ckernel

TTL_OF_SLOT(remainder_tile)
