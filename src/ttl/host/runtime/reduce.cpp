// Sums and maxima of the rows, the columns or all values of a tile.
#include "matrix_unit.h"
#include "ordering.h"

#include "api/compute/reduce.h"

namespace ttl_host {

namespace {

using ckernel::PoolType;
using ckernel::ReduceDim;

FpuMode reduce_mode(PoolType pool, ReduceDim dim) {
  const int form = static_cast<int>(pool) * 4 + static_cast<int>(dim);
  return {FpuKind::Reduce, static_cast<uint8_t>(form)};
}

// Row 0 of each of the four faces holds the scaler, once for every column. Which of them meets
// which number is the hardware's affair, so they must be the same.
float scaler_of(const float* tile, int line) {
  const float value = tile[0];
  for (uint32_t face = 0; face < 4; ++face)
    for (uint32_t i = 0; i < 16; ++i)
      if (tile[face * face_values + i] != value)
        fault(line, "the scaler tile must hold one number in row 0 of each of its four faces");
  return value;
}

float combined(PoolType pool, float a, float b) {
  if (pool == PoolType::MAX) return larger(a, b);
  return pool == PoolType::MIN ? smaller(a, b) : computed(a + b);
}

// All bits set are less than any number (ISA documentation, GMPOOL.md).
float neutral(PoolType pool) {
  if (pool == PoolType::MAX) return float_of(0xffffffffu);
  return pool == PoolType::MIN ? float_of(0x7fffffffu) : 0.0f;
}

// Line i of the tile: a row, a column, or all of it.
float reduced_line(PoolType pool, ReduceDim dim, const float* values, uint32_t line) {
  float result = neutral(pool);
  for (uint32_t i = 0; i < 32; ++i) {
    const uint32_t place = dim == ReduceDim::REDUCE_COL ? place_of(i, line) : place_of(line, i);
    result = combined(pool, result, values[place]);
  }
  return result;
}

float reduced_tile(PoolType pool, const float* values) {
  float result = neutral(pool);
  for (uint32_t row = 0; row < 32; ++row)
    result = combined(pool, result, reduced_line(pool, ReduceDim::REDUCE_ROW, values, row));
  return result;
}

struct Result {
  PoolType pool;
  Rounding rounding;
  bool is_fresh;

  // A place that nothing was reduced into holds 0; a maximum must not see that.
  float with(float held, float value) const {
    const float sum = combined(pool, is_fresh ? neutral(pool) : held, value) + 0.0f;  // no -0
    if (rounding == Rounding::None) return sum;
    return rounding == Rounding::NearestAway ? ToNearestAway::apply(sum) : ToNearestEven::apply(sum);
  }
};

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/reduce.h: reduce_init. The packer then writes only the places of the results.
void begin_reduce(PoolType pool, ReduceDim dim) {
  begin_mode(reduce_mode(pool, dim));
  const PackMask masks[] = {PackMask::FirstColumns, PackMask::FirstRow, PackMask::FirstValue};
  compute_of(self()).pack_mask = masks[static_cast<int>(dim)];
}

// api/compute/reduce.h: reduce_uninit
void end_reduce() { compute_of(self()).pack_mask = PackMask::All; }

// api/compute/reduce.h: reduce_tile. Results stand in column 0, row 0 or element (0, 0) and
// accumulate. A sum over rows has the scaler in source A; over both dimensions it is applied twice.
void reduce_tile(PoolType pool, ReduceDim dim, uint32_t index, uint32_t scaler_index,
                 uint32_t tile, uint32_t scaler_tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  check_mode(compute, reduce_mode(pool, dim), "reduce_tile", line);
  const bool is_sum = pool == PoolType::SUM || pool == PoolType::AVG;
  const bool swapped = is_sum && dim == ReduceDim::REDUCE_ROW;
  const auto load_operand = is_sum ? load_factor : load_matrix;
  float* values = load_operand(fiber, swapped ? Side::B : Side::A, index, tile, line);
  const float* scaler_values =
      load_operand(fiber, swapped ? Side::A : Side::B, scaler_index, scaler_tile, line);
  const float scaler = scaler_of(scaler_values, line);
  if (!is_sum && scaler != 1.0f) fault(line, "a maximum needs the scaler 1");
  // Measured: a maximum of rows beside a scaler of 16 bits has 16 bits.
  if (!is_sum && dim == ReduceDim::REDUCE_ROW &&
      buffer_at(fiber, scaler_index, line).format->fits_16_bit_dst)
    tile_math().copy(values, values, Rounding::Truncate);
  const bool is_fresh = slot < max_dst_slots && !compute.slot_is_live[slot];
  float* out = slot_values(fiber, slot, line);
  const Result result{pool, matrix_rounding(fiber), is_fresh};
  if (dim == ReduceDim::REDUCE_SCALAR) {
    out[0] = result.with(out[0], reduced_tile(pool, values) * scaler * scaler);
    return;
  }
  for (uint32_t i = 0; i < 32; ++i) {
    float& place = out[dim == ReduceDim::REDUCE_ROW ? place_of(i, 0) : place_of(0, i)];
    place = result.with(place, reduced_line(pool, dim, values, i) * scaler);
  }
}

}  // namespace ckernel::detail
