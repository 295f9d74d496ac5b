#pragma once

#include "api/compute/common_globals.h"

TTL_PLAIN_INIT(add_binary_tile_init)
TTL_PLAIN_INIT(sub_binary_tile_init)
TTL_PLAIN_INIT(rsub_binary_tile_init)
TTL_PLAIN_INIT(mul_binary_tile_init)

TTL_OF_SLOTS(mul_binary_tile, TTL_WIDE)

namespace ckernel {

// A 16-bit DST gets the result as the first parameter of the template says.
#define TTL_ROUNDED(name)                                                              \
  namespace detail {                                                                   \
  void name(                                                                           \
      uint32_t in0, uint32_t in1, uint32_t out, DstRoundingMode rounding, int line);   \
  }                                                                                    \
  template <                                                                           \
      DstRoundingMode dst_rounding_mode = DstRoundingMode::Default,                    \
      bool is_fp32_dest_acc_en = DST_ACCUM_MODE>                                       \
  ALWI void name(                                                                      \
      uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {    \
    TTL_COMPUTES(line);                                                                \
    detail::name(idst0, idst1, odst, dst_rounding_mode, line);                         \
  }

TTL_ROUNDED(add_binary_tile)
TTL_ROUNDED(sub_binary_tile)
TTL_ROUNDED(rsub_binary_tile)

}  // namespace ckernel
