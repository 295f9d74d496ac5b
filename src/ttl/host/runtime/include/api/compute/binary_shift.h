// api/compute/binary_shift.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void binary_logical_right_shift_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DataFormat format, int line);
}

TTL_PLAIN_INIT(binary_shift_tile_init)

template <DataFormat data_format>
ALWI void binary_logical_right_shift_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format for logical right shift. Supported: Int32, UInt32, UInt16");
  detail::binary_logical_right_shift_tile(idst0, idst1, odst, data_format, line);
}

}  // namespace ckernel
