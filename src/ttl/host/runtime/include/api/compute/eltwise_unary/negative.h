#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(negative_tile_init)
TTL_OF_SLOT(negative_tile)
TTL_OF_SLOT(negative_tile_int32)
