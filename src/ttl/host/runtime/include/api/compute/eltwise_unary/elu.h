#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(elu_tile_init)
TTL_OF_SLOT1(elu_tile, TTL_WIDE)
