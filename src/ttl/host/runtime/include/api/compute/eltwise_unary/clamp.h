#pragma once

#include "api/compute/common_globals.h"

TTL_OF_SLOT2(clamp_tile_int32)
