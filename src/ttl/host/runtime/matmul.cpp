// The matrix product.
#include "matrix_unit.h"

#include "api/compute/matmul.h"

namespace ttl_host {

namespace {

alignas(64) const float zeros[tile_values] = {};  // what a slot holds before the first product

// Phases 0 and 1 take the first digits of source B, phase 2 the others and the first of source A.
void multiply_in_three_phases(Fiber& fiber, const float* left, const float* right,
                              const float* before, float* out) {
  float* part = compute_of(fiber).packed_values;    // free until the section is packed
  float* first = compute_of(fiber).source_a_values;  // the factors lie elsewhere
  for (uint32_t i = 0; i < tile_values; ++i) part[i] = first_digits(Side::B, left[i]);
  tile_math().matmul(part, right, before, out, matrix_rounding(fiber));
  for (uint32_t i = 0; i < tile_values; ++i) {
    part[i] = other_digits(Side::B, left[i]);
    first[i] = first_digits(Side::A, right[i]);
  }
  tile_math().matmul(part, first, out, out, matrix_rounding(fiber));
}

// One step of k: the outer product of `rows` tiles of in0, `pitch` apart, and `columns` of in1. The
// operands are swapped on the chip: source A holds in1. All are unpacked once, into memory of the
// thread, which stays in its cache.
void multiply(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
              uint32_t columns, uint32_t rows, uint32_t pitch, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  Factors& factors = *fiber.lane->factors;
  const Rounding rounding = matrix_rounding(fiber);
  const bool in_three_phases = rounds_like_chip(fiber) && fiber.kernel->phases == 3;
  for (uint32_t row = 0; row < rows; ++row) {
    load_factor_to(fiber, Side::B, in0, tile0 + row * pitch, factors.left, line);
    for (uint32_t column = 0; column < columns; ++column) {
      const uint32_t target = slot + row * columns + column;
      const bool is_live = target < max_dst_slots && compute.slot_is_live[target];
      float* out = overwritten_slot(fiber, target, line);
      compute.slot_has_sums[target] = true;
      const float* before = is_live ? out : zeros;
      float* right = factors.right[column];  // there are no more of them than slots
      if (row == 0) {
        load_factor_to(fiber, Side::A, in1, tile1 + column, right, line);
        if (compute.matmul_transpose) transpose_values(right);
      }
      if (in_three_phases)
        multiply_in_three_phases(fiber, factors.left, right, before, out);
      else
        tile_math().matmul(factors.left, right, before, out, rounding);
    }
  }
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/matmul.h: matmul_init, matmul_block_init
void begin_matmul(uint32_t transpose, uint32_t columns, uint32_t rows) {
  begin_mode({FpuKind::Matmul, 0});
  Compute& compute = compute_of(self());
  compute.matmul_transpose = transpose;
  compute.matmul_columns = columns;
  compute.matmul_rows = rows;
}

// api/compute/matmul.h
void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                  int line) {
  const Compute& compute = compute_of(self(line));
  check_mode(compute, {FpuKind::Matmul, 0}, "matmul_tiles", line);
  if (compute.matmul_columns != 1 || compute.matmul_rows != 1)
    fault(line, "matmul_tiles after matmul_block_init with ct_dim %u and rt_dim %u",
          compute.matmul_columns, compute.matmul_rows);
  multiply(in0, in1, tile0, tile1, slot, 1, 1, 1, line);
}

// api/compute/matmul.h
void matmul_block(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                  uint32_t transpose, uint32_t columns, uint32_t rows, uint32_t pitch, int line) {
  const Compute& compute = compute_of(self(line));
  check_mode(compute, {FpuKind::Matmul, 0}, "matmul_block", line);
  if (compute.matmul_columns != columns || compute.matmul_rows != rows)
    fault(line, "matmul_block with ct_dim %u, rt_dim %u after an init with %u, %u", columns,
          rows, compute.matmul_columns, compute.matmul_rows);
  if (compute.matmul_transpose != transpose)
    fault(line, "matmul_block with transpose %u after an init with %u", transpose,
          compute.matmul_transpose);
  multiply(in0, in1, tile0, tile1, slot, columns, rows, pitch, line);
}

}  // namespace ckernel::detail
