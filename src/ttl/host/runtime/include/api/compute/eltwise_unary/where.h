#pragma once

#include "api/compute/common_globals.h"

TTL_VECTOR_INIT(where_tile_init)

namespace ckernel {

namespace detail {
void where_tile(
    uint32_t condition, uint32_t yes, uint32_t no, uint32_t out, DataFormat format, int line);
}  // namespace detail

template <DataFormat data_format>
ALWI void where_tile(
    uint32_t idst0, uint32_t idst1, uint32_t idst2, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Float32 || data_format == DataFormat::Float16_b ||
          data_format == DataFormat::Int32 || data_format == DataFormat::UInt32,
      "Unsupported data format for where_tile");
  TTL_COMPUTES(line);
  detail::where_tile(idst0, idst1, idst2, odst, data_format, line);
}

}  // namespace ckernel
