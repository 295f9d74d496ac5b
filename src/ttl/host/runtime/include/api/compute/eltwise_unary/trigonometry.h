#pragma once

#include "api/compute/common_globals.h"

TTL_INIT(acos_tile_init, "asin_tile_init", TTL_WIDE)
TTL_INIT(acosh_tile_init, "asinh_tile_init", TTL_WIDE)
