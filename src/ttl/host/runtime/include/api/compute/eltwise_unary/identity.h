#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(identity_tile_init)
TTL_OF_SLOT(identity_tile)
