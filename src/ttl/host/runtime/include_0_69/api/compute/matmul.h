// api/compute/matmul.h of ttnn 0.69: the names that 0.81 has no more.
#pragma once

#include_next "api/compute/matmul.h"

namespace ckernel {

ALWI void mm_init_short(
    uint32_t in0_cb_id,
    uint32_t in1_cb_id,
    const uint32_t transpose = 0,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  matmul_init(in0_cb_id, in1_cb_id, transpose);
}

ALWI void mm_init(
    uint32_t in0_cb_id,
    uint32_t in1_cb_id,
    uint32_t out_cb_id,
    const uint32_t transpose = 0,
    uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(in1_cb_id, in0_cb_id, out_cb_id, static_cast<int>(call_line));
  matmul_init(in0_cb_id, in1_cb_id, transpose);
}

ALWI void mm_block_init_short(
    uint32_t in0_cb_id,
    uint32_t in1_cb_id,
    const uint32_t transpose = 0,
    uint32_t ct_dim = 1,
    uint32_t rt_dim = 1,
    uint32_t kt_dim = 1,
    CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  matmul_block_init(in0_cb_id, in1_cb_id, transpose, ct_dim, rt_dim, kt_dim);
}

ALWI void mm_block_init(
    uint32_t in0_cb_id,
    uint32_t in1_cb_id,
    uint32_t out_cb_id,
    const uint32_t transpose = 0,
    uint32_t ct_dim = 1,
    uint32_t rt_dim = 1,
    uint32_t kt_dim = 1,
    uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::start_up_again(in1_cb_id, in0_cb_id, out_cb_id, static_cast<int>(call_line));
  matmul_block_init(in0_cb_id, in1_cb_id, transpose, ct_dim, rt_dim, kt_dim);
}

}  // namespace ckernel
