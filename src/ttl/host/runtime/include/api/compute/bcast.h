// api/compute/bcast.h
#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_unary_broadcast(BroadcastType type, uint32_t buffer);
void broadcast_to_slot(
    BroadcastType type, uint32_t buffer, uint32_t tile, uint32_t slot, int line);
}  // namespace detail

template <BroadcastType bcast_type, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void unary_bcast_init(uint32_t icb) {
  detail::begin_unary_broadcast(bcast_type, icb);
}

template <BroadcastType bcast_type, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void unary_bcast(
    uint32_t icb, uint32_t in_tile_index, uint32_t dst_tile_index, int line = __builtin_LINE()) {
  detail::broadcast_to_slot(bcast_type, icb, in_tile_index, dst_tile_index, line);
}

template <BroadcastType bcast_type>
ALWI void unary_bcast_uninit(uint32_t icb) {
  (void)icb;
}

template <EltwiseBinaryType tBcastOp, BroadcastType tBcastDim>
ALWI void bcast_init(uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  (void)icb0, (void)icb1, (void)call_line;
  detail::begin_binary(tBcastOp, tBcastDim, false);
}

template <
    EltwiseBinaryType tBcastOp,
    BroadcastType tBcastDim,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void any_tiles_bcast(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  detail::binary_tiles(
      tBcastOp, tBcastDim, {icb0, icb1, itile0, itile1, idst, bcast_row_idx}, line);
}

template <BroadcastType tBcastDim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles_bcast(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  any_tiles_bcast<EltwiseBinaryType::ELWADD, tBcastDim>(
      icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void add_bcast_rows_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWADD, BroadcastType::ROW>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles_bcast_rows(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  add_tiles_bcast<BroadcastType::ROW>(icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void add_bcast_cols_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWADD, BroadcastType::COL>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles_bcast_cols(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  add_tiles_bcast<BroadcastType::COL>(icb0, icb1, itile0, itile1, idst, 0, line);
}

ALWI void add_bcast_scalar_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWADD, BroadcastType::SCALAR>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles_bcast_scalar(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  add_tiles_bcast<BroadcastType::SCALAR>(icb0, icb1, itile0, itile1, idst, 0, line);
}

template <BroadcastType tBcastDim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles_bcast(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  any_tiles_bcast<EltwiseBinaryType::ELWSUB, tBcastDim>(
      icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void sub_bcast_rows_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWSUB, BroadcastType::ROW>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles_bcast_rows(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  sub_tiles_bcast<BroadcastType::ROW>(icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void sub_bcast_cols_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWSUB, BroadcastType::COL>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles_bcast_cols(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  sub_tiles_bcast<BroadcastType::COL>(icb0, icb1, itile0, itile1, idst, 0, line);
}

ALWI void sub_bcast_scalar_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWSUB, BroadcastType::SCALAR>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles_bcast_scalar(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  sub_tiles_bcast<BroadcastType::SCALAR>(icb0, icb1, itile0, itile1, idst, 0, line);
}

template <BroadcastType tBcastDim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles_bcast(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  any_tiles_bcast<EltwiseBinaryType::ELWMUL, tBcastDim>(
      icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void mul_bcast_rows_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWMUL, BroadcastType::ROW>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles_bcast_rows(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    uint32_t bcast_row_idx = 0,
    int line = __builtin_LINE()) {
  mul_tiles_bcast<BroadcastType::ROW>(icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);
}

ALWI void mul_bcast_cols_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWMUL, BroadcastType::COL>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles_bcast_cols(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  mul_tiles_bcast<BroadcastType::COL>(icb0, icb1, itile0, itile1, idst, 0, line);
}

ALWI void mul_bcast_scalar_init(
    uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  bcast_init<EltwiseBinaryType::ELWMUL, BroadcastType::SCALAR>(icb0, icb1, call_line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles_bcast_scalar(
    uint32_t icb0,
    uint32_t icb1,
    uint32_t itile0,
    uint32_t itile1,
    uint32_t idst,
    int line = __builtin_LINE()) {
  mul_tiles_bcast<BroadcastType::SCALAR>(icb0, icb1, itile0, itile1, idst, 0, line);
}

}  // namespace ckernel
