// api/compute/sub_int_sfpu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using IntegerSlots = void(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DataFormat format, int line);
IntegerSlots sub_int_tile, rsub_int_tile;
}  // namespace detail

TTL_PLAIN_INIT(sub_int_tile_init)
TTL_PLAIN_INIT(rsub_int_tile_init)

template <DataFormat data_format>
ALWI void sub_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::sub_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void rsub_int_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::rsub_int_tile(idst0, idst1, odst, data_format, line);
}

}  // namespace ckernel
