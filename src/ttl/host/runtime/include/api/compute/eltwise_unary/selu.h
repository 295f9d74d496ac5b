#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(selu_tile_init)
TTL_OF_SLOT2(selu_tile, TTL_WIDE)
