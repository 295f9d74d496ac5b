#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(binary_bitwise_tile_init)

TTL_OF_INTEGERS(bitwise_and_binary_tile)
TTL_OF_INTEGERS(bitwise_or_binary_tile)
TTL_OF_INTEGERS(bitwise_xor_binary_tile)
