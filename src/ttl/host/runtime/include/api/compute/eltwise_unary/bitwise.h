#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(bitwise_and_tile_init)
TTL_PLAIN_INIT(bitwise_or_tile_init)
TTL_PLAIN_INIT(bitwise_xor_tile_init)

namespace ckernel {

#define TTL_WITH_WORD(name)                                                              \
  namespace detail {                                                                     \
  void name(uint32_t slot, DataFormat format, uint32_t value, int line);                 \
  }                                                                                      \
  TTL_BY_FORMAT ALWI void name(                                                          \
      uint32_t idst, uint32_t param0, int line = __builtin_LINE()) {                     \
    detail::name(idst, data_format, param0, line);                                       \
  }

TTL_WITH_WORD(bitwise_and_tile)
TTL_WITH_WORD(bitwise_or_tile)
TTL_WITH_WORD(bitwise_xor_tile)

}  // namespace ckernel
