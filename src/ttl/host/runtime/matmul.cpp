// The matrix product.
#include "matrix_unit.h"

#include "api/compute/matmul.h"

namespace ttl_host {

namespace {

void begin_matmul(uint32_t transpose, uint32_t columns, uint32_t rows) {
  begin_mode({FpuKind::Matmul, 0});
  Compute& compute = compute_of(self());
  compute.matmul_transpose = transpose;
  compute.matmul_columns = columns;
  compute.matmul_rows = rows;
}

// Phases 0 and 1 take the first digits of source B, phase 2 the others and the first of source A.
void multiply_in_three_phases(Fiber& fiber, const float* left, float* right, float* out) {
  float* part = compute_of(fiber).packed_values;  // free until the section is packed
  for (uint32_t i = 0; i < tile_values; ++i) part[i] = first_digits(Side::B, left[i]);
  tile_math().matmul_accumulate(part, right, out, matrix_rounding(fiber));
  for (uint32_t i = 0; i < tile_values; ++i) {
    part[i] = other_digits(Side::B, left[i]);
    right[i] = first_digits(Side::A, right[i]);
  }
  tile_math().matmul_accumulate(part, right, out, matrix_rounding(fiber));
}

// D[slot] += left @ B[tile]. The operands are swapped on the chip: source A holds in1.
void multiply_tiles(const float* left, uint32_t in1, uint32_t tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  float* out = slot_values(fiber, slot, line);
  const float* right = load_factor(fiber, Side::A, in1, tile, line);
  if (compute.matmul_transpose) transpose_values(compute.source_a_values);
  if (rounds_like_chip(fiber) && fiber.kernel->phases == 3)
    return multiply_in_three_phases(fiber, left, compute.source_a_values, out);
  tile_math().matmul_accumulate(left, right, out, matrix_rounding(fiber));
}

}  // namespace

}  // namespace ttl_host

namespace ckernel {

using namespace ttl_host;

// api/compute/matmul.h
void matmul_init(uint32_t, uint32_t, const uint32_t transpose, uint32_t) {
  begin_matmul(transpose, 1, 1);
}

// api/compute/matmul.h
void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                  int line) {
  const Compute& compute = compute_of(self(line));
  check_mode(compute, {FpuKind::Matmul, 0}, "matmul_tiles", line);
  if (compute.matmul_columns != 1 || compute.matmul_rows != 1)
    fault(line, "matmul_tiles after matmul_block_init with ct_dim %u and rt_dim %u",
          compute.matmul_columns, compute.matmul_rows);
  multiply_tiles(load_factor(self(line), Side::B, in0, tile0, line), in1, tile1, slot, line);
}

// api/compute/matmul.h
void matmul_block_init(uint32_t, uint32_t, const uint32_t transpose, uint32_t ct_dim,
                       uint32_t rt_dim, uint32_t, uint32_t) {
  begin_matmul(transpose, ct_dim, rt_dim);
}

// api/compute/matmul.h. One step of k: an rt x ct outer product of tiles; kt_dim is only the
// distance between rows of in0.
void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                  const uint32_t transpose, uint32_t ct_dim, uint32_t rt_dim, uint32_t kt_dim,
                  uint32_t call_line) {
  const int line = static_cast<int>(call_line);
  const Compute& compute = compute_of(self(line));
  check_mode(compute, {FpuKind::Matmul, 0}, "matmul_block", line);
  if (compute.matmul_columns != ct_dim || compute.matmul_rows != rt_dim)
    fault(line, "matmul_block with ct_dim %u, rt_dim %u after an init with %u, %u", ct_dim,
          rt_dim, compute.matmul_columns, compute.matmul_rows);
  if (compute.matmul_transpose != transpose)
    fault(line, "matmul_block with transpose %u after an init with %u", transpose,
          compute.matmul_transpose);
  for (uint32_t row = 0; row < rt_dim; ++row) {
    const float* left = load_factor(self(line), Side::B, in0, tile0 + row * kt_dim, line);
    for (uint32_t column = 0; column < ct_dim; ++column)
      multiply_tiles(left, in1, tile1 + column, slot + row * ct_dim + column, line);
  }
}

}  // namespace ckernel
