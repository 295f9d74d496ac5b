// api/compute/binary_bitwise_sfpu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using IntegerSlots = void(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DataFormat format, int line);
IntegerSlots bitwise_and_binary_tile, bitwise_or_binary_tile, bitwise_xor_binary_tile;
}  // namespace detail

TTL_PLAIN_INIT(binary_bitwise_tile_init)

template <DataFormat data_format>
ALWI void bitwise_and_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::bitwise_and_binary_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void bitwise_or_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::bitwise_or_binary_tile(idst0, idst1, odst, data_format, line);
}

template <DataFormat data_format>
ALWI void bitwise_xor_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  static_assert(
      data_format == DataFormat::Int32 || data_format == DataFormat::UInt32 ||
          data_format == DataFormat::UInt16,
      "Unsupported data format. Supported data formats are: Int32, UInt32, UInt16");
  detail::bitwise_xor_binary_tile(idst0, idst1, odst, data_format, line);
}

}  // namespace ckernel
