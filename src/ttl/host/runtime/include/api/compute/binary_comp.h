// api/compute/binary_comp.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using IntegerSlots = void(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DataFormat format, int line);
IntegerSlots eq_int_tile, ne_int_tile, lt_int_tile, le_int_tile, gt_int_tile, ge_int_tile;
}  // namespace detail

template <DataFormat data_format>
TTL_PLAIN_INIT(eq_int_tile_init)
template <DataFormat data_format>
TTL_PLAIN_INIT(ne_int_tile_init)
template <DataFormat data_format>
TTL_PLAIN_INIT(lt_int_tile_init)
template <DataFormat data_format>
TTL_PLAIN_INIT(le_int_tile_init)
template <DataFormat data_format>
TTL_PLAIN_INIT(gt_int_tile_init)
template <DataFormat data_format>
TTL_PLAIN_INIT(ge_int_tile_init)

template <DataFormat data_format>
ALWI void eq_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::eq_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void ne_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::ne_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void lt_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::lt_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void le_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::le_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void gt_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::gt_int_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void ge_int_tile(uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::ge_int_tile(idst0, idst1, odst, data_format, line);
}

}  // namespace ckernel
