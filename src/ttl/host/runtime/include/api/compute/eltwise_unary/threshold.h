#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(threshold_tile_init)
TTL_OF_SLOT2(threshold_tile)
