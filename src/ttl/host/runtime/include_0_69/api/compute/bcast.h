// api/compute/bcast.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/bcast.h"

namespace ckernel {

template <EltwiseBinaryType tBcastOp, BroadcastType tBcastDim>
ALWI void init_bcast(
    uint32_t icb0, uint32_t icb1, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(icb0, icb1, ocb, static_cast<int>(call_line));
  bcast_init<tBcastOp, tBcastDim>(icb0, icb1);
}

template <BroadcastType bcast_type>
ALWI void unary_bcast_init(
    uint32_t icb, uint32_t ocb, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::begin_unary_broadcast(bcast_type, icb);
}

TTL_BROADCAST_INIT(add_bcast_rows_init_short, ELWADD, ROW)
TTL_BROADCAST_INIT(add_bcast_cols_init_short, ELWADD, COL)
TTL_BROADCAST_INIT(add_bcast_scalar_init_short, ELWADD, SCALAR)
TTL_BROADCAST_INIT(sub_bcast_rows_init_short, ELWSUB, ROW)
TTL_BROADCAST_INIT(sub_bcast_cols_init_short, ELWSUB, COL)
TTL_BROADCAST_INIT(sub_tiles_bcast_scalar_init_short, ELWSUB, SCALAR)
TTL_BROADCAST_INIT(mul_bcast_rows_init_short, ELWMUL, ROW)
TTL_BROADCAST_INIT(mul_bcast_cols_init_short, ELWMUL, COL)
TTL_BROADCAST_INIT(mul_tiles_bcast_scalar_init_short, ELWMUL, SCALAR)

}  // namespace ckernel
