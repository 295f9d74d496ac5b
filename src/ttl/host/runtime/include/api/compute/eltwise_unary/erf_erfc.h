#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(erf_tile_init, template <bool fast_and_approx = true>)
TTL_OF_SLOT(erf_tile, template <bool fast_and_approx = true>)
