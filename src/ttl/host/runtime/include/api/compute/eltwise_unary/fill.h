// api/compute/eltwise_unary/fill.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

void fill_tile_init();
void fill_tile(uint32_t idst, float param0, int line = __builtin_LINE());
void fill_tile_bitcast(uint32_t idst, uint32_t param0, int line = __builtin_LINE());

}  // namespace ckernel
