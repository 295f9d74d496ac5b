#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

TTL_APPROXIMATE(false) TTL_VECTOR_INIT(log1p_tile_init)

TTL_OF_SLOT(log1p_tile, TTL_APPROXIMATE(false))

}  // namespace ckernel
