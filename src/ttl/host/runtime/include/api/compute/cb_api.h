// api/compute/cb_api.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

void cb_wait_front(uint32_t cbid, uint32_t ntiles, int line = __builtin_LINE());
void cb_pop_front(uint32_t cbid, uint32_t ntiles, int line = __builtin_LINE());
void cb_reserve_back(uint32_t cbid, uint32_t ntiles, int line = __builtin_LINE());
void cb_push_back(uint32_t cbid, uint32_t ntiles, int line = __builtin_LINE());

}  // namespace ckernel
