#pragma once

#include "api/compute/common_globals.h"
#include "api/compute/src_order.h"

namespace ckernel {

namespace detail {
void start_up(uint32_t source_a, uint32_t source_b, uint32_t output, int line);
// For the names of 0.69, which kernels call before every section.
void start_up_again(uint32_t source_a, uint32_t source_b, uint32_t output, int line);
}  // namespace detail

template <SrcOrder src_order = SrcOrder::Regular>
ALWI void compute_kernel_hw_startup(
    uint32_t icb0, uint32_t icb1, uint32_t ocb, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  constexpr bool reverse = src_order == SrcOrder::Reverse;
  detail::start_up(reverse ? icb1 : icb0, reverse ? icb0 : icb1, ocb, line);
}

ALWI void compute_kernel_hw_startup(
    uint32_t icb0, uint32_t ocb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::start_up(icb0, icb0, ocb, line.number);
}

}  // namespace ckernel
