#pragma once

#include "api/compute/common_globals.h"
#include "api/compute/src_order.h"

namespace ckernel {

namespace detail {
void configure_source(bool is_a, uint32_t buffer);
void configure_packer(uint32_t buffer);
}  // namespace detail

template <SrcOrder src_order = SrcOrder::Regular>
ALWI void reconfig_data_format(
    const uint32_t icb0_new_operand,
    const uint32_t icb1_new_operand,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  constexpr bool reverse = src_order == SrcOrder::Reverse;
  detail::configure_source(true, reverse ? icb1_new_operand : icb0_new_operand);
  detail::configure_source(false, reverse ? icb0_new_operand : icb1_new_operand);
}

// The forms with old operands skip the work where the format stays the same.
template <SrcOrder src_order = SrcOrder::Regular>
ALWI void reconfig_data_format(
    const uint32_t icb0_old_operand,
    const uint32_t icb0_new_operand,
    const uint32_t icb1_old_operand,
    const uint32_t icb1_new_operand,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  reconfig_data_format<src_order>(icb0_new_operand, icb1_new_operand, line);
}

ALWI void reconfig_data_format_srca(
    const uint32_t srca_new_operand, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_source(true, srca_new_operand);
}

ALWI void reconfig_data_format_srca(
    const uint32_t srca_old_operand,
    const uint32_t srca_new_operand,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_source(true, srca_new_operand);
}

ALWI void reconfig_data_format_srcb(
    const uint32_t srcb_new_operand, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_source(false, srcb_new_operand);
}

ALWI void reconfig_data_format_srcb(
    const uint32_t srcb_old_operand,
    const uint32_t srcb_new_operand,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_source(false, srcb_new_operand);
}

template <bool is_tile_dim_reconfig_en = false>
ALWI void pack_reconfig_data_format(
    const uint32_t new_cb_id, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_packer(new_cb_id);
}

template <bool is_tile_dim_reconfig_en = false>
ALWI void pack_reconfig_data_format(
    const uint32_t old_cb_id,
    const uint32_t new_cb_id,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::configure_packer(new_cb_id);
}

}  // namespace ckernel
