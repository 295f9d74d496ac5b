// api/compute/eltwise_unary/relu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

void relu_tile_init();
void relu_tile(uint32_t idst, int line = __builtin_LINE());

}  // namespace ckernel
