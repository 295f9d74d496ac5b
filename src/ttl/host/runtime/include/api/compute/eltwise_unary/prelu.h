#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(prelu_tile_init)
TTL_OF_SLOT1(prelu_tile)
