// api/compute/transpose_wh_dest.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include "api/compute/transpose_dest.h"

namespace ckernel {

template <bool is_32bit = false>
ALWI void transpose_wh_dest_init_short(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  transpose_dest_init<is_32bit>();
}

template <bool is_32bit = false>
ALWI void transpose_wh_dest(uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  transpose_dest<is_32bit>(idst, line);
}

}  // namespace ckernel
