#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(add_int_tile_init)

TTL_OF_INTEGERS(add_int_tile)
