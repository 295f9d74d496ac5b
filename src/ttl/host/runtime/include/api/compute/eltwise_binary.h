// api/compute/eltwise_binary.h
#pragma once

#include "api/compute/common.h"

namespace ckernel {

template <bool full_init, EltwiseBinaryType eltwise_binary_type>
ALWI void binary_tiles_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    uint32_t call_line = __builtin_LINE()) {
  (void)icb0, (void)icb1, (void)call_line;
  detail::begin_binary(eltwise_binary_type, BroadcastType::NONE, acc_to_dest);
}

ALWI void add_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    uint32_t call_line = __builtin_LINE()) {
  binary_tiles_init<true, EltwiseBinaryType::ELWADD>(icb0, icb1, acc_to_dest, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  detail::binary_tiles(
      EltwiseBinaryType::ELWADD, BroadcastType::NONE, {icb0, icb1, itile0, itile1, idst, 0}, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_block(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t start_itile0,
    uint32_t start_itile1,
    uint32_t start_idst,
    uint32_t ntiles,
    int line = __builtin_LINE()) {
  for (uint32_t i = 0; i < ntiles; ++i)
    add_tiles(icb0, icb1, start_itile0 + i, start_itile1 + i, start_idst + i, line);
}

template <EltwiseBinaryReuseDestType reuse_dest>
ALWI void add_reuse_dest_init(uint32_t icb, uint32_t call_line = __builtin_LINE()) {
  static_assert(
      reuse_dest != EltwiseBinaryReuseDestType::NONE,
      "reuse_dest must be DEST_TO_SRCA or DEST_TO_SRCB");
  (void)icb, (void)call_line;
  detail::begin_reuse(EltwiseBinaryType::ELWADD, reuse_dest);
}

template <EltwiseBinaryReuseDestType reuse_dest, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_reuse_dest_tiles(
    uint32_t in_cb_id,
    uint32_t in_tile_index,
    uint32_t dst_tile_index,
    int line = __builtin_LINE()) {
  detail::reuse_tiles(
      EltwiseBinaryType::ELWADD, reuse_dest, in_cb_id, in_tile_index, dst_tile_index, line);
}

ALWI void sub_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    uint32_t call_line = __builtin_LINE()) {
  binary_tiles_init<true, EltwiseBinaryType::ELWSUB>(icb0, icb1, acc_to_dest, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  detail::binary_tiles(
      EltwiseBinaryType::ELWSUB, BroadcastType::NONE, {icb0, icb1, itile0, itile1, idst, 0}, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_block(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t start_itile0,
    uint32_t start_itile1,
    uint32_t start_idst,
    uint32_t ntiles,
    int line = __builtin_LINE()) {
  for (uint32_t i = 0; i < ntiles; ++i)
    sub_tiles(icb0, icb1, start_itile0 + i, start_itile1 + i, start_idst + i, line);
}

template <EltwiseBinaryReuseDestType reuse_dest>
ALWI void sub_reuse_dest_init(uint32_t icb, uint32_t call_line = __builtin_LINE()) {
  static_assert(
      reuse_dest != EltwiseBinaryReuseDestType::NONE,
      "reuse_dest must be DEST_TO_SRCA or DEST_TO_SRCB");
  (void)icb, (void)call_line;
  detail::begin_reuse(EltwiseBinaryType::ELWSUB, reuse_dest);
}

template <EltwiseBinaryReuseDestType reuse_dest, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_reuse_dest_tiles(
    uint32_t in_cb_id,
    uint32_t in_tile_index,
    uint32_t dst_tile_index,
    int line = __builtin_LINE()) {
  detail::reuse_tiles(
      EltwiseBinaryType::ELWSUB, reuse_dest, in_cb_id, in_tile_index, dst_tile_index, line);
}

ALWI void mul_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = true,
    uint32_t call_line = __builtin_LINE()) {
  binary_tiles_init<true, EltwiseBinaryType::ELWMUL>(icb0, icb1, acc_to_dest, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  detail::binary_tiles(
      EltwiseBinaryType::ELWMUL, BroadcastType::NONE, {icb0, icb1, itile0, itile1, idst, 0}, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_block(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t start_itile0,
    uint32_t start_itile1,
    uint32_t start_idst,
    uint32_t ntiles,
    int line = __builtin_LINE()) {
  for (uint32_t i = 0; i < ntiles; ++i)
    mul_tiles(icb0, icb1, start_itile0 + i, start_itile1 + i, start_idst + i, line);
}

template <EltwiseBinaryReuseDestType reuse_dest>
ALWI void mul_reuse_dest_init(uint32_t icb, uint32_t call_line = __builtin_LINE()) {
  static_assert(
      reuse_dest != EltwiseBinaryReuseDestType::NONE,
      "reuse_dest must be DEST_TO_SRCA or DEST_TO_SRCB");
  (void)icb, (void)call_line;
  detail::begin_reuse(EltwiseBinaryType::ELWMUL, reuse_dest);
}

template <EltwiseBinaryReuseDestType reuse_dest, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_reuse_dest_tiles(
    uint32_t in_cb_id,
    uint32_t in_tile_index,
    uint32_t dst_tile_index,
    int line = __builtin_LINE()) {
  detail::reuse_tiles(
      EltwiseBinaryType::ELWMUL, reuse_dest, in_cb_id, in_tile_index, dst_tile_index, line);
}

}  // namespace ckernel
