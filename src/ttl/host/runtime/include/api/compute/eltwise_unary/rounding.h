#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

void round_tile(uint32_t idst, int32_t decimals, int line = __builtin_LINE());

}  // namespace ckernel
