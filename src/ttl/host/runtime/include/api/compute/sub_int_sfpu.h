#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(sub_int_tile_init)
TTL_PLAIN_INIT(rsub_int_tile_init)

TTL_OF_INTEGERS(sub_int_tile)
TTL_OF_INTEGERS(rsub_int_tile)
