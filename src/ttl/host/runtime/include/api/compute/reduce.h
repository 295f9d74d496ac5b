#pragma once

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_reduce(PoolType pool, ReduceDim dim);
void end_reduce();
void reduce_tile(
    PoolType pool,
    ReduceDim dim,
    uint32_t buffer,
    uint32_t scaler_buffer,
    uint32_t tile,
    uint32_t scaler_tile,
    uint32_t slot,
    int line);
}  // namespace detail

template <PoolType reduce_type, ReduceDim reduce_dim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void reduce_init(
    uint32_t icb, uint32_t icb_scaler, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_reduce(reduce_type, reduce_dim);
}

ALWI void reduce_uninit(uint32_t icb = 0, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::end_reduce();
}

template <PoolType reduce_type, ReduceDim reduce_dim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void reduce_tile(
    uint32_t icb,
    uint32_t icb_scaler,
    uint32_t itile,
    uint32_t itile_scaler,
    uint32_t idst,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line, icb, icb_scaler);
  detail::reduce_tile(
      reduce_type, reduce_dim, icb, icb_scaler, itile, itile_scaler, idst, line);
}

template <PoolType reduce_type, ReduceDim reduce_dim, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void reduce_block(
    uint32_t icb,
    uint32_t icb_scaler,
    uint32_t start_itile,
    uint32_t itile_scaler,
    uint32_t start_idst,
    uint32_t ntiles,
    int line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(line, ntiles, 1, icb, icb_scaler);
  for (uint32_t i = 0; i < ntiles; ++i)
    detail::reduce_tile(
        reduce_type, reduce_dim, icb, icb_scaler, start_itile + i, itile_scaler, start_idst + i,
        line);
}

}  // namespace ckernel
