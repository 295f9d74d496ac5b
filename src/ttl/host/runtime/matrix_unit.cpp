// Unpacker and matrix unit: operands come from circular buffers, results go to DST.
#include "buffers.h"
#include "registers.h"

#include "api/compute/eltwise_binary.h"
#include "api/compute/matmul.h"
#include "api/compute/tile_move_copy.h"

namespace ttl_host {

namespace {

const char* const mode_names[] = {"no init", "copy_init", "add_init",
                                  "sub_init", "mul_init", "matmul_init"};

// The unpack and matrix units do what their last init set up, whatever is called afterwards.
void check_mode(const Compute& compute, FpuMode mode, const char* call, int line) {
  if (compute.mode != mode)
    fault(line, "%s needs %s, but the last init was %s", call, mode_names[int(mode)],
          mode_names[int(compute.mode)]);
}

// Values are unpacked by the configured format, not by the buffer's: a difference gives garbage.
void check_format(const TileFormat* configured, const CircularBuffer& buffer, const char* source,
                  int line) {
  if (configured != buffer.format)
    fault(line, "%s is configured for %s but `%s` holds %s: reconfig_data_format is missing",
          source, configured->name, buffer.plan->name, buffer.format->name);
}

void check_matrix_operand(const CircularBuffer& buffer, int line) {
  if (buffer.plan->unpack_to_dest_fp32)
    fault(line, "`%s` is marked UnpackToDestFp32 and cannot feed the matrix unit",
          buffer.plan->name);
}

const float* load_a(Fiber& fiber, uint32_t index, uint32_t tile, int line) {
  Compute& compute = compute_of(fiber);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_format(compute.source_a, buffer, "source A", line);
  buffer.format->unpack(front_tile(fiber, buffer, tile, line), compute.source_a_values);
  return compute.source_a_values;
}

const float* load_b(Fiber& fiber, uint32_t index, uint32_t tile, int line) {
  Compute& compute = compute_of(fiber);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_format(compute.source_b, buffer, "source B", line);
  check_matrix_operand(buffer, line);
  buffer.format->unpack(front_tile(fiber, buffer, tile, line), compute.source_b_values);
  return compute.source_b_values;
}

const float* load_matrix_a(Fiber& fiber, uint32_t index, uint32_t tile, int line) {
  check_matrix_operand(buffer_at(fiber, index, line), line);
  return load_a(fiber, index, tile, line);
}

void begin(FpuMode mode, bool accumulates = false) {
  Compute& compute = compute_of(self());
  compute.mode = mode;
  compute.add_accumulates = accumulates;
}

struct BinaryCall {
  uint32_t buffer0, buffer1, tile0, tile1, slot;
  int line;
};

using BinaryLoop = void (*)(const float*, const float*, float*, Rounding);

void overwrite(const BinaryCall& call, BinaryLoop loop) {
  Fiber& fiber = self(call.line);
  float* out = overwritten_slot(fiber, call.slot, call.line);
  const float* a = load_matrix_a(fiber, call.buffer0, call.tile0, call.line);
  const float* b = load_b(fiber, call.buffer1, call.tile1, call.line);
  loop(a, b, out, matrix_rounding(fiber));
}

// D += A op B, with one rounding at the end.
void accumulate(const BinaryCall& call, BinaryLoop loop) {
  Fiber& fiber = self(call.line);
  Compute& compute = compute_of(fiber);
  float* out = slot_values(fiber, call.slot, call.line);
  load_matrix_a(fiber, call.buffer0, call.tile0, call.line);
  const float* b = load_b(fiber, call.buffer1, call.tile1, call.line);
  loop(compute.source_a_values, b, compute.source_a_values, Rounding::None);
  tile_math().add(out, compute.source_a_values, out, matrix_rounding(fiber));
}

void add_or_subtract(const BinaryCall& call, BinaryLoop loop) {
  if (compute_of(self(call.line)).add_accumulates)
    accumulate(call, loop);
  else
    overwrite(call, loop);
}

void transpose_tile_values(float* values) {
  auto place = [](uint32_t row, uint32_t column) {
    return (row / 16 * 2 + column / 16) * face_values + row % 16 * 16 + column % 16;
  };
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t column = row + 1; column < 32; ++column) {
      float& upper = values[place(row, column)];
      float& lower = values[place(column, row)];
      const float kept = upper;
      upper = lower;
      lower = kept;
    }
}

void begin_matmul(uint32_t transpose, uint32_t columns, uint32_t rows) {
  begin(FpuMode::Matmul);
  Compute& compute = compute_of(self());
  compute.matmul_transpose = transpose;
  compute.matmul_columns = columns;
  compute.matmul_rows = rows;
}

// D[slot] += A[tile0] @ B[tile1]. The operands are swapped on the chip: source A holds in1.
void multiply_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                    int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  float* out = slot_values(fiber, slot, line);
  load_matrix_a(fiber, in1, tile1, line);
  load_b(fiber, in0, tile0, line);
  if (compute.matmul_transpose) transpose_tile_values(compute.source_a_values);
  tile_math().matmul_accumulate(compute.source_b_values, compute.source_a_values, out,
                                matrix_rounding(fiber));
}

}  // namespace

}  // namespace ttl_host

namespace ckernel {

using namespace ttl_host;

// api/compute/eltwise_binary.h
void add_init(uint32_t, uint32_t, bool acc_to_dest, uint32_t) {
  begin(FpuMode::Add, acc_to_dest);
}

// api/compute/eltwise_binary.h
void sub_init(uint32_t, uint32_t, bool acc_to_dest, uint32_t) {
  begin(FpuMode::Subtract, acc_to_dest);
}

// api/compute/eltwise_binary.h. acc_to_dest changes nothing: a product always accumulates.
void mul_init(uint32_t, uint32_t, bool, uint32_t) { begin(FpuMode::Multiply); }

// api/compute/matmul.h
void matmul_init(uint32_t, uint32_t, const uint32_t transpose, uint32_t) {
  begin_matmul(transpose, 1, 1);
}

// api/compute/matmul.h
void matmul_tiles(uint32_t in0, uint32_t in1, uint32_t tile0, uint32_t tile1, uint32_t slot,
                  int line) {
  const Compute& compute = compute_of(self(line));
  check_mode(compute, FpuMode::Matmul, "matmul_tiles", line);
  if (compute.matmul_columns != 1 || compute.matmul_rows != 1)
    fault(line, "matmul_tiles after matmul_block_init with ct_dim %u and rt_dim %u",
          compute.matmul_columns, compute.matmul_rows);
  multiply_tiles(in0, in1, tile0, tile1, slot, line);
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
  check_mode(compute, FpuMode::Matmul, "matmul_block", line);
  if (compute.matmul_columns != ct_dim || compute.matmul_rows != rt_dim)
    fault(line, "matmul_block with ct_dim %u, rt_dim %u after an init with %u, %u", ct_dim,
          rt_dim, compute.matmul_columns, compute.matmul_rows);
  if (compute.matmul_transpose != transpose)
    fault(line, "matmul_block with transpose %u after an init with %u", transpose,
          compute.matmul_transpose);
  for (uint32_t row = 0; row < rt_dim; ++row)
    for (uint32_t column = 0; column < ct_dim; ++column)
      multiply_tiles(in0, in1, tile0 + row * kt_dim, tile1 + column, slot + row * ct_dim + column,
                     line);
}

namespace detail {

// api/compute/tile_move_copy.h: copy_init
void begin_copy(uint32_t, uint32_t transpose, uint32_t within_face, int line) {
  if (transpose || within_face)
    fault(line, "copy_init with a transpose is not known to the host runtime yet");
  begin(FpuMode::Copy);
}

// api/compute/tile_move_copy.h: copy_tile. Overwrites.
void copy_to_slot(uint32_t index, uint32_t tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  check_mode(compute_of(fiber), FpuMode::Copy, "copy_tile", line);
  if (buffer_at(fiber, index, line).plan->unpack_to_dest_fp32 && dst_is_16_bit(fiber))
    fault(line, "a buffer marked UnpackToDestFp32 is copied to a 16-bit DST");
  float* out = overwritten_slot(fiber, slot, line);
  tile_math().copy(load_a(fiber, index, tile, line), out, matrix_rounding(fiber));
}

// api/compute/eltwise_binary.h: add_tiles. Overwrites, unless add_init asked to accumulate.
void add(uint32_t icb0, uint32_t icb1, uint32_t itile0, uint32_t itile1, uint32_t idst,
         int line) {
  check_mode(compute_of(self(line)), FpuMode::Add, "add_tiles", line);
  add_or_subtract({icb0, icb1, itile0, itile1, idst, line}, tile_math().add);
}

// api/compute/eltwise_binary.h: sub_tiles. Overwrites, unless sub_init asked to accumulate.
void subtract(uint32_t icb0, uint32_t icb1, uint32_t itile0, uint32_t itile1, uint32_t idst,
              int line) {
  check_mode(compute_of(self(line)), FpuMode::Subtract, "sub_tiles", line);
  add_or_subtract({icb0, icb1, itile0, itile1, idst, line}, tile_math().subtract);
}

// api/compute/eltwise_binary.h: mul_tiles. Accumulates: D += A * B.
void multiply(uint32_t icb0, uint32_t icb1, uint32_t itile0, uint32_t itile1, uint32_t idst,
              int line) {
  Fiber& fiber = self(line);
  check_mode(compute_of(fiber), FpuMode::Multiply, "mul_tiles", line);
  float* out = slot_values(fiber, idst, line);
  const float* a = load_matrix_a(fiber, icb0, itile0, line);
  const float* b = load_b(fiber, icb1, itile1, line);
  tile_math().multiply_accumulate(a, b, out, matrix_rounding(fiber));
}

}  // namespace detail

}  // namespace ckernel
