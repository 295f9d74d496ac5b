#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(binary_shift_tile_init)

TTL_OF_INTEGERS(binary_logical_right_shift_tile)
