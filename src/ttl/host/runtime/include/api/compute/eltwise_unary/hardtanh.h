#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(hardtanh_tile_init)
TTL_OF_SLOT2(hardtanh_tile)
