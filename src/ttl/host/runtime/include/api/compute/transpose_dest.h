#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_transpose_dest(bool of_faces);
void transpose_slot(uint32_t slot, bool of_faces, int line);
}  // namespace detail

template <bool is_32bit = false, bool transpose_of_faces = true>
ALWI void transpose_dest_init(
    uint32_t operand = 0, CallLine line = CallLine(__builtin_LINE())) {
  static_assert(is_32bit == DST_ACCUM_MODE, "is_32bit must say how wide DST is");
  TTL_COMPUTES(line.number);
  detail::begin_transpose_dest(transpose_of_faces);
}

template <bool is_32bit = false, bool transpose_of_faces = true>
ALWI void transpose_dest(uint32_t idst, int line = __builtin_LINE()) {
  static_assert(is_32bit == DST_ACCUM_MODE, "is_32bit must say how wide DST is");
  TTL_COMPUTES(line);
  detail::transpose_slot(idst, transpose_of_faces, line);
}

}  // namespace ckernel
