// api/compute/pack.h
#pragma once

#include <cstdint>

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
void pack_at(std::uint32_t slot, std::uint32_t buffer, std::uint32_t tile, int line);
void pack_next(std::uint32_t slot, std::uint32_t buffer, int line);
}  // namespace detail

// In sequence the third argument is ignored, as on the chip.
template <bool out_of_order_output = false, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void pack_tile(
    std::uint32_t ifrom_dst,
    std::uint32_t icb,
    std::uint32_t output_tile_index = 0,
    int line = __builtin_LINE()) {
  if constexpr (out_of_order_output)
    detail::pack_at(ifrom_dst, icb, output_tile_index, line);
  else
    detail::pack_next(ifrom_dst, icb, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void pack_block(
    std::uint32_t ifrom_dst,
    std::uint32_t icb,
    std::uint32_t ntiles,
    int line = __builtin_LINE()) {
  for (std::uint32_t i = 0; i < ntiles; ++i) detail::pack_next(ifrom_dst + i, icb, line);
}

}  // namespace ckernel
