#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(binary_max_tile_init)
TTL_VECTOR_INIT(binary_min_tile_init)

namespace ckernel {

#define TTL_LARGER_OR_SMALLER(name)                                                      \
  namespace detail { OfSlots name; }                                                     \
  ALWI void name(                                                                        \
      uint32_t idst0,                                                                    \
      uint32_t idst1,                                                                    \
      uint32_t odst,                                                                     \
      VectorMode vector_mode = VectorMode::RC,                                           \
      int line = __builtin_LINE()) {                                                     \
    TTL_COMPUTES(line);                                                                  \
    detail::name(idst0, idst1, odst, vector_mode, line);                                 \
  }

TTL_LARGER_OR_SMALLER(binary_max_tile)
TTL_LARGER_OR_SMALLER(binary_min_tile)

}  // namespace ckernel
