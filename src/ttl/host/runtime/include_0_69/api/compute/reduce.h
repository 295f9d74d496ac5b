// api/compute/reduce.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/reduce.h"

namespace ckernel {

template <bool enforce_fp32_accumulation>
ALWI void reduce_uninit(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::end_reduce();
}

}  // namespace ckernel
