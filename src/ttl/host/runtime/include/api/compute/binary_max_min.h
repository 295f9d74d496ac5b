// api/compute/binary_max_min.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
OfSlots binary_max_tile, binary_min_tile, binary_max_int32_tile, binary_min_int32_tile;
OfSlots binary_max_uint32_tile, binary_min_uint32_tile;
}  // namespace detail

TTL_VECTOR_INIT(binary_max_tile_init)
TTL_VECTOR_INIT(binary_max_int32_tile_init)
TTL_VECTOR_INIT(binary_max_uint32_tile_init)
TTL_OF_SLOTS(binary_max_int32_tile)
TTL_OF_SLOTS(binary_max_uint32_tile)

ALWI void binary_max_tile(
    uint32_t idst0,
    uint32_t idst1,
    uint32_t odst,
    VectorMode vector_mode = VectorMode::RC,
    int line = __builtin_LINE()) {
  detail::binary_max_tile(idst0, idst1, odst, vector_mode, line);
}

TTL_VECTOR_INIT(binary_min_tile_init)
TTL_VECTOR_INIT(binary_min_int32_tile_init)
TTL_VECTOR_INIT(binary_min_uint32_tile_init)
TTL_OF_SLOTS(binary_min_int32_tile)
TTL_OF_SLOTS(binary_min_uint32_tile)

ALWI void binary_min_tile(
    uint32_t idst0,
    uint32_t idst1,
    uint32_t odst,
    VectorMode vector_mode = VectorMode::RC,
    int line = __builtin_LINE()) {
  detail::binary_min_tile(idst0, idst1, odst, vector_mode, line);
}

}  // namespace ckernel
