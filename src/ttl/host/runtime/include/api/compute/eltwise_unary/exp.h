#pragma once

#include "api/compute/common_globals.h"

namespace ckernel {

enum class InputClamping : uint8_t {
  ClampToNegative = 1,
  None = 0,
};

namespace detail {
void exp_tile(uint32_t slot, bool scaled, uint16_t scale, VectorMode faces, int line);
}

// Approximation is not modelled: every mode computes exp.
template <
    bool approx = false,
    uint32_t scale = 0x3F800000,
    InputClamping input_clamping = InputClamping::ClampToNegative,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void exp_tile_init(CallLine line = CallLine(__builtin_LINE())) {
  static_assert(scale == 0x3F800000, "the host runtime does not model a scale in exp_tile_init");
  TTL_COMPUTES(line.number);
  detail::begin_vector("exp_tile_init");
}

template <
    bool approx = false,
    bool scale_en = false,
    InputClamping input_clamping = InputClamping::ClampToNegative,
    int iterations = 8,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void exp_tile(
    uint32_t idst,
    VectorMode vector_mode = VectorMode::RC,
    uint16_t scale = p_sfpu::kCONST_1_FP16B,
    int line = __builtin_LINE()) {
  static_assert(iterations == 8, "the host runtime works on whole faces");
  TTL_COMPUTES(line);
  detail::exp_tile(idst, scale_en, scale, vector_mode, line);
}

}  // namespace ckernel
