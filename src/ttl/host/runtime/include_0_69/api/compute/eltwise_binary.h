// api/compute/eltwise_binary.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/eltwise_binary.h"

namespace ckernel {

ALWI void binary_op_init_common(
    uint32_t icb0, uint32_t icb1, uint32_t ocb, uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(icb0, icb1, ocb, static_cast<int>(call_line));
}

ALWI void add_tiles_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  add_init(icb0, icb1, acc_to_dest);
}

ALWI void sub_tiles_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  sub_init(icb0, icb1, acc_to_dest);
}

ALWI void mul_tiles_init(
    uint32_t icb0, uint32_t icb1, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  mul_init(icb0, icb1);
}

template <EltwiseBinaryType eltwise_binary_type, EltwiseBinaryReuseDestType binary_reuse_dest>
ALWI void binary_dest_reuse_tiles_init(
    uint32_t icb0, CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  detail::begin_reuse(eltwise_binary_type, binary_reuse_dest);
}

template <EltwiseBinaryType eltwise_binary_type, EltwiseBinaryReuseDestType binary_reuse_dest>
ALWI void binary_dest_reuse_tiles(
    uint32_t in_cb_id,
    uint32_t in_tile_index,
    uint32_t dst_tile_index,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line, in_cb_id);
  detail::reuse_tiles(
      eltwise_binary_type, binary_reuse_dest, in_cb_id, in_tile_index, dst_tile_index, line);
}

constexpr EltwiseBinaryType ELWADD = EltwiseBinaryType::ELWADD;
constexpr EltwiseBinaryType ELWSUB = EltwiseBinaryType::ELWSUB;
constexpr EltwiseBinaryType ELWMUL = EltwiseBinaryType::ELWMUL;

}  // namespace ckernel
