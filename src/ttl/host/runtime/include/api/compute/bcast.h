#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_unary_broadcast(BroadcastType type, uint32_t buffer);
void broadcast_to_slot(
    BroadcastType type, uint32_t buffer, uint32_t tile, uint32_t slot, int line);
}  // namespace detail

template <BroadcastType bcast_type, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void unary_bcast_init(uint32_t icb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::begin_unary_broadcast(bcast_type, icb);
}

template <BroadcastType bcast_type, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void unary_bcast(
    uint32_t icb, uint32_t in_tile_index, uint32_t dst_tile_index, int line = __builtin_LINE()) {
  TTL_COMPUTES(line, icb);
  detail::broadcast_to_slot(bcast_type, icb, in_tile_index, dst_tile_index, line);
}

template <BroadcastType bcast_type>
ALWI void unary_bcast_uninit(uint32_t icb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
}

template <EltwiseBinaryType tBcastOp, BroadcastType tBcastDim>
ALWI void bcast_init(uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
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
  TTL_COMPUTES(line, icb0, icb1);
  detail::binary_tiles(
      tBcastOp, tBcastDim, {icb0, icb1, itile0, itile1, idst, bcast_row_idx}, line);
}

#define TTL_BROADCAST_INIT(name, type, dim)                                                \
  ALWI void name(uint32_t icb0, uint32_t icb1, uint32_t call_line = __builtin_LINE()) {    \
    TTL_COMPUTES(call_line);                                                               \
    bcast_init<EltwiseBinaryType::type, BroadcastType::dim>(icb0, icb1, call_line);        \
  }
// The template `of` that a call has, and the dimension it broadcasts along.
#define TTL_BROADCAST_ROW(name, type, dim, of)                                             \
  of ALWI void name(                                                                       \
      uint32_t icb0,                                                                       \
      uint32_t icb1,                                                                       \
      uint32_t itile0,                                                                     \
      uint32_t itile1,                                                                     \
      uint32_t idst,                                                                       \
      uint32_t bcast_row_idx = 0,                                                          \
      int line = __builtin_LINE()) {                                                       \
    TTL_COMPUTES(line, icb0, icb1);                                                        \
    any_tiles_bcast<EltwiseBinaryType::type, dim>(                                         \
        icb0, icb1, itile0, itile1, idst, bcast_row_idx, line);                            \
  }
#define TTL_BROADCAST(name, type, dim)                                                     \
  TTL_WIDE ALWI void name(                                                                 \
      uint32_t icb0,                                                                       \
      uint32_t icb1,                                                                       \
      uint32_t itile0,                                                                     \
      uint32_t itile1,                                                                     \
      uint32_t idst,                                                                       \
      int line = __builtin_LINE()) {                                                       \
    TTL_COMPUTES(line, icb0, icb1);                                                        \
    any_tiles_bcast<EltwiseBinaryType::type, dim>(                                         \
        icb0, icb1, itile0, itile1, idst, 0, line);                                        \
  }
#define TTL_BY_DIM \
  template <BroadcastType tBcastDim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
#define TTL_BROADCASTS(name, type)                                                         \
  TTL_BROADCAST_INIT(name##_bcast_rows_init, type, ROW)                                    \
  TTL_BROADCAST_INIT(name##_bcast_cols_init, type, COL)                                    \
  TTL_BROADCAST_INIT(name##_bcast_scalar_init, type, SCALAR)                               \
  TTL_BROADCAST_ROW(name##_tiles_bcast, type, tBcastDim, TTL_BY_DIM)                       \
  TTL_BROADCAST_ROW(name##_tiles_bcast_rows, type, BroadcastType::ROW, TTL_WIDE)           \
  TTL_BROADCAST(name##_tiles_bcast_cols, type, BroadcastType::COL)                         \
  TTL_BROADCAST(name##_tiles_bcast_scalar, type, BroadcastType::SCALAR)

TTL_BROADCASTS(add, ELWADD)
TTL_BROADCASTS(sub, ELWSUB)
TTL_BROADCASTS(mul, ELWMUL)

}  // namespace ckernel
