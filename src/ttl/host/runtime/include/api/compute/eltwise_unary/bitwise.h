// api/compute/eltwise_unary/bitwise.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using BitwiseWithScalar = void(uint32_t slot, DataFormat format, uint32_t value, int line);
BitwiseWithScalar bitwise_and_tile, bitwise_or_tile, bitwise_xor_tile;
}  // namespace detail

TTL_PLAIN_INIT(bitwise_and_tile_init)

template <DataFormat data_format>
ALWI void bitwise_and_tile(uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {
  detail::bitwise_and_tile(idst, data_format, param0, line);
}

TTL_PLAIN_INIT(bitwise_or_tile_init)

template <DataFormat data_format>
ALWI void bitwise_or_tile(uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {
  detail::bitwise_or_tile(idst, data_format, param0, line);
}

TTL_PLAIN_INIT(bitwise_xor_tile_init)

template <DataFormat data_format>
ALWI void bitwise_xor_tile(uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {
  detail::bitwise_xor_tile(idst, data_format, param0, line);
}

}  // namespace ckernel
