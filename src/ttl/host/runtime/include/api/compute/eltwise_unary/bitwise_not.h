#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(bitwise_not_tile_init)
TTL_OF_SLOT(bitwise_not_tile)
