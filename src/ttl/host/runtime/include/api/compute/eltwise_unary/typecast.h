#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void typecast_tile(uint32_t slot, DataFormat from, DataFormat to, int line);
}

template <uint32_t IN_DTYPE, uint32_t OUT_DTYPE, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void typecast_tile_init(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::begin_vector("typecast_tile_init", IN_DTYPE * 256 + OUT_DTYPE);
}

template <uint32_t IN_DTYPE, uint32_t OUT_DTYPE, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void typecast_tile(uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::typecast_tile(
      idst, static_cast<DataFormat>(IN_DTYPE), static_cast<DataFormat>(OUT_DTYPE), line);
}

}  // namespace ckernel
