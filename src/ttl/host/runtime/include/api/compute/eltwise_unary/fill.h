#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(fill_tile_init)
TTL_OF_SLOT1(fill_tile_bitcast)

namespace ckernel {

namespace detail {
void fill_tile_int(uint32_t slot, DataFormat format, uint32_t value, int line);
}

ALWI void fill_tile(uint32_t idst, float param0, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  uint32_t bits;
  __builtin_memcpy(&bits, &param0, 4);
  detail::fill_tile_bitcast(idst, bits, VectorMode::RC, line);
}

template <DataFormat DATA_FORMAT>
ALWI void fill_tile_int(uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {
  static_assert(
      ::detail::is_integer_format(DATA_FORMAT),
      "Unsupported data format for fill_tile_int. Supported: Int32, UInt32, UInt16");
  TTL_COMPUTES(line);
  detail::fill_tile_int(idst, DATA_FORMAT, param0, line);
}

}  // namespace ckernel
