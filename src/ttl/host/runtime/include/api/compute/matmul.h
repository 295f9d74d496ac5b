#pragma once

#include <cstdint>

#include "api/compute/common.h"

namespace ckernel {

namespace detail {
void begin_matmul(std::uint32_t transpose, std::uint32_t columns, std::uint32_t rows);
void matmul_tiles(
    std::uint32_t in0,
    std::uint32_t in1,
    std::uint32_t tile0,
    std::uint32_t tile1,
    std::uint32_t slot,
    int line);
void matmul_block(
    std::uint32_t in0,
    std::uint32_t in1,
    std::uint32_t tile0,
    std::uint32_t tile1,
    std::uint32_t slot,
    std::uint32_t transpose,
    std::uint32_t columns,
    std::uint32_t rows,
    std::uint32_t pitch,
    int line);
}  // namespace detail

ALWI void matmul_init(
    std::uint32_t in0_cb_id,
    std::uint32_t in1_cb_id,
    const std::uint32_t transpose = 0,
    std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_matmul(transpose, 1, 1);
}

ALWI void matmul_tiles(
    std::uint32_t in0_cb_id,
    std::uint32_t in1_cb_id,
    std::uint32_t in0_tile_index,
    std::uint32_t in1_tile_index,
    std::uint32_t idst,
    int line = __builtin_LINE()) {
  TTL_COMPUTES(line, in0_cb_id, in1_cb_id);
  detail::matmul_tiles(in0_cb_id, in1_cb_id, in0_tile_index, in1_tile_index, idst, line);
}

ALWI void matmul_block_init(
    std::uint32_t in0_cb_id,
    std::uint32_t in1_cb_id,
    const std::uint32_t transpose = 0,
    std::uint32_t ct_dim = 1,
    std::uint32_t rt_dim = 1,
    std::uint32_t kt_dim = 1,
    std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_matmul(transpose, ct_dim, rt_dim);
}

// One step of k: an rt x ct outer product of tiles; kt_dim is only the distance between rows of in0.
ALWI void matmul_block(
    std::uint32_t in0_cb_id,
    std::uint32_t in1_cb_id,
    std::uint32_t in0_tile_index,
    std::uint32_t in1_tile_index,
    std::uint32_t idst,
    const std::uint32_t transpose,
    std::uint32_t ct_dim,
    std::uint32_t rt_dim,
    std::uint32_t kt_dim,
    std::uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES_TIMES(call_line, ct_dim, rt_dim, in0_cb_id, in1_cb_id);
  detail::matmul_block(
      in0_cb_id, in1_cb_id, in0_tile_index, in1_tile_index, idst, transpose, ct_dim, rt_dim,
      kt_dim, static_cast<int>(call_line));
}

}  // namespace ckernel
