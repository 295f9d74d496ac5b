// api/compute/eltwise_binary_sfpu.h
#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

namespace detail {
using BinarySlots = void(
    uint32_t idst0, uint32_t idst1, uint32_t odst, DstRoundingMode rounding, int line);
BinarySlots add_slots, subtract_slots;
void multiply_slots(uint32_t idst0, uint32_t idst1, uint32_t odst, int line);
}  // namespace detail

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::multiply_slots(idst0, idst1, odst, line);
}

template <
    ckernel::DstRoundingMode dst_rounding_mode = ckernel::DstRoundingMode::Default,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::add_slots(idst0, idst1, odst, dst_rounding_mode, line);
}

template <
    ckernel::DstRoundingMode dst_rounding_mode = ckernel::DstRoundingMode::Default,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_binary_tile(
    uint32_t idst0, uint32_t idst1, uint32_t odst, int line = __builtin_LINE()) {
  detail::subtract_slots(idst0, idst1, odst, dst_rounding_mode, line);
}

// These load no constants (ckernel_sfpu_binary.h, sfpu_binary_init).
ALWI void mul_binary_tile_init() {}
ALWI void add_binary_tile_init() {}
ALWI void sub_binary_tile_init() {}

}  // namespace ckernel
