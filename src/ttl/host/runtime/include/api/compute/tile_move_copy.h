#pragma once

#include <cstdint>

#include "api/compute/common_globals.h"
#include "api/compute/reconfig_data_format.h"

namespace ckernel {

namespace detail {
void begin_copy(std::uint32_t buffer, std::uint32_t transpose, std::uint32_t within_face);
void copy_to_slot(std::uint32_t buffer, std::uint32_t tile, std::uint32_t slot, int line);
}  // namespace detail

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_init(
    std::uint32_t cbid,
    std::uint32_t transpose = 0,
    std::uint32_t transpose_within_16x16_face = false,
    std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_copy(cbid, transpose, transpose_within_16x16_face);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_tile(
    std::uint32_t in_cb_id,
    std::uint32_t in_tile_index,
    std::uint32_t dst_tile_index,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line, in_cb_id);
  detail::copy_to_slot(in_cb_id, in_tile_index, dst_tile_index, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_block(
    std::uint32_t in_cb_id,
    std::uint32_t start_in_tile_index,
    std::uint32_t start_dst_tile_index,
    std::uint32_t ntiles,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, ntiles, 1, in_cb_id);
  for (std::uint32_t i = 0; i < ntiles; ++i)
    detail::copy_to_slot(in_cb_id, start_in_tile_index + i, start_dst_tile_index + i, line);
}

// Deprecated in 0.81.
template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_tile_init(std::uint32_t cbid, std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  copy_init(cbid, 0, false, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_tile_to_dst_init_short(
    std::uint32_t cbid,
    std::uint32_t transpose = 0,
    std::uint32_t transpose_within_16x16_face = false,
    std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  copy_init(cbid, transpose, transpose_within_16x16_face, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void copy_tile_to_dst_init_short_with_dt(
    std::uint32_t old_cbid,
    std::uint32_t new_cbid,
    std::uint32_t transpose = 0,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  reconfig_data_format_srca(old_cbid, new_cbid);
  copy_init(new_cbid, transpose);
}

}  // namespace ckernel
