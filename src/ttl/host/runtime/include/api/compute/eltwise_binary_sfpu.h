// api/compute/eltwise_binary_sfpu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using RoundedSlots = void(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DstRoundingMode rounding, int line);
RoundedSlots add_binary_tile, sub_binary_tile, rsub_binary_tile;
OfSlots mul_binary_tile, div_binary_tile, power_binary_tile;
OfSlots eq_binary_tile, ne_binary_tile, lt_binary_tile;
OfSlots le_binary_tile, gt_binary_tile, ge_binary_tile;
}  // namespace detail

TTL_PLAIN_INIT(add_binary_tile_init)
TTL_PLAIN_INIT(sub_binary_tile_init)
TTL_PLAIN_INIT(rsub_binary_tile_init)
TTL_PLAIN_INIT(mul_binary_tile_init)
TTL_VECTOR_INIT(div_binary_tile_init)
TTL_VECTOR_INIT(power_binary_tile_init)

template <
    ckernel::DstRoundingMode dst_rounding_mode = ckernel::DstRoundingMode::Default,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::add_binary_tile(idst0, idst1, odst, dst_rounding_mode, line);
}

template <
    ckernel::DstRoundingMode dst_rounding_mode = ckernel::DstRoundingMode::Default,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::sub_binary_tile(idst0, idst1, odst, dst_rounding_mode, line);
}

template <
    ckernel::DstRoundingMode dst_rounding_mode = ckernel::DstRoundingMode::Default,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void rsub_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::rsub_binary_tile(idst0, idst1, odst, dst_rounding_mode, line);
}

TTL_WIDE TTL_OF_SLOTS(mul_binary_tile)
TTL_WIDE TTL_OF_SLOTS(div_binary_tile)
TTL_WIDE TTL_OF_SLOTS(power_binary_tile)

TTL_PLAIN_INIT(eq_binary_tile_init)
TTL_OF_SLOTS(eq_binary_tile)
TTL_PLAIN_INIT(ne_binary_tile_init)
TTL_OF_SLOTS(ne_binary_tile)
TTL_PLAIN_INIT(lt_binary_tile_init)
TTL_OF_SLOTS(lt_binary_tile)
TTL_PLAIN_INIT(le_binary_tile_init)
TTL_OF_SLOTS(le_binary_tile)
TTL_PLAIN_INIT(gt_binary_tile_init)
TTL_OF_SLOTS(gt_binary_tile)
TTL_PLAIN_INIT(ge_binary_tile_init)
TTL_OF_SLOTS(ge_binary_tile)

}  // namespace ckernel
