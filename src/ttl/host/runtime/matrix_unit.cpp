// Copies, transposes, broadcasts and element-wise operations on tiles of circular buffers.
#include "matrix_unit.h"

#include <cstring>

#include "rounding.h"

#include "api/compute/bcast.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/tile_move_copy.h"
#include "api/compute/transpose.h"
#include "api/compute/transpose_dest.h"

namespace ttl_host {

namespace {

const char* const mode_names[] = {
    "no init",  "copy_init", "unary_bcast_init", "transpose_init", "transpose_dest_init",
    "add_init", "sub_init",  "mul_init",         "reduce_init",    "matmul_init",
    "tilize_init", "pack_untilize_init",
};

bool is_unpacked_to_dst(const CircularBuffer& buffer) {
  const TileFormat& format = *buffer.format;
  return buffer.plan->unpack_to_dest_fp32 || (format.is_integer && format.tile_bytes == 4096);
}

// A float32 in a source has the digits of a TF32; only one that is unpacked to DST keeps all.
bool is_cut_off(const CircularBuffer& buffer) {
  const TileFormat& format = *buffer.format;
  return !format.is_integer && format.tile_bytes == 4096 && !buffer.plan->unpack_to_dest_fp32;
}

// Values are unpacked by the configured format, not by the buffer's: a difference gives garbage.
// What is not unpacked to DST gets there by a sum with zeros, and one switch says of which numbers.
void check_format(const Compute& compute, const Source& configured, const CircularBuffer& buffer,
                  const char* source, int line) {
  if (configured.format != buffer.format)
    fault(line, "%s is configured for %s but `%s` holds %s: reconfig_data_format is missing",
          source, configured.format->name, buffer.plan->name, buffer.format->name);
  if (configured.goes_to_dst != (buffer.plan->unpack_to_dest_fp32 != 0))
    fault(line, "%s is configured for a buffer that is%s marked UnpackToDestFp32 but `%s` is%s: "
          "reconfig_data_format is missing", source, configured.goes_to_dst ? "" : " not",
          buffer.plan->name, configured.goes_to_dst ? " not" : "");
  if (!is_unpacked_to_dst(buffer) && compute.adds_integers != buffer.format->adds_integers)
    fault(line, "the matrix unit adds %s since the last format was set up, but `%s` holds %s",
          compute.adds_integers ? "integers" : "floats", buffer.plan->name, buffer.format->name);
}

void check_matrix_operand(const CircularBuffer& buffer, int line) {
  if (buffer.plan->unpack_to_dest_fp32)
    fault(line, "`%s` is marked UnpackToDestFp32 and cannot feed the matrix unit",
          buffer.plan->name);
  if (buffer.format->is_integer)
    fault(line, "`%s` holds %s, which the matrix unit does not take", buffer.plan->name,
          buffer.format->name);
}

// What moves a tile to DST without arithmetic: integers keep their bits.
void check_move(Fiber& fiber, const CircularBuffer& buffer, int line) {
  const Source moved = compute_of(fiber).moved, wanted = source_of(buffer);
  if (moved.format != wanted.format || moved.goes_to_dst != wanted.goes_to_dst)
    fault(line, "the last init was for a buffer of %s%s, but `%s` holds %s%s", moved.format->name,
          moved.goes_to_dst ? " unpacked to DST" : "", buffer.plan->name, wanted.format->name,
          wanted.goes_to_dst ? " unpacked to DST" : "");
  if (buffer.plan->unpack_to_dest_fp32 && dst_is_16_bit(fiber))
    fault(line, "a buffer marked UnpackToDestFp32 is copied to a 16-bit DST");
}

// The value of row `row`, column 0, or row 0 and column 0, everywhere.
void broadcast(float* values, ckernel::BroadcastType type, uint32_t row) {
  float kept[32];
  using ckernel::BroadcastType;
  const bool by_row = type == BroadcastType::ROW;
  for (uint32_t i = 0; i < 32; ++i)
    kept[i] = values[by_row ? place_of(row, i)
                            : place_of(type == BroadcastType::COL ? i : 0, 0)];
  for (uint32_t i = 0; i < 32; ++i)
    for (uint32_t j = 0; j < 32; ++j) values[place_of(i, j)] = kept[by_row ? j : i];
}

// unary_bcast<ROW> through source B copies by MOVB2D, which counts rows of 16 bits: in a 32-bit DST a
// call fills half a slot, from slot / 2 on, and eight rows of a face get what sixteen should. (As
// measured on both chips; COL and SCALAR copy by ELWADD, which counts rows as wide as they are.)
void broadcast_row_to_half_slot(Fiber& fiber, const float* values, uint32_t slot, int line) {
  slot_values(fiber, slot, line);
  float* out = slot_values(fiber, slot / 2, line) + slot % 2 * 2 * face_values;
  for (uint32_t row = 0; row < 32; ++row)
    memcpy(out + row * 16, values + row / 8 % 2 * face_values, 16 * sizeof(float));
}

void transpose_faces(float* values) {
  float kept[face_values];
  memcpy(kept, values + face_values, sizeof(kept));
  memcpy(values + face_values, values + 2 * face_values, sizeof(kept));
  memcpy(values + 2 * face_values, kept, sizeof(kept));
}

void transpose_within_faces(float* values) {
  for (uint32_t face = 0; face < 4; ++face)
    for (uint32_t row = 0; row < 16; ++row)
      for (uint32_t column = row + 1; column < 16; ++column) {
        float& upper = values[face * face_values + row * 16 + column];
        float& lower = values[face * face_values + column * 16 + row];
        const float kept = upper;
        upper = lower;
        lower = kept;
      }
}

// D += A * B phase by phase, each of which rounds.
void multiply_in_phases(const Fiber& fiber, const float* a, const float* b, float* out) {
  const Rounding rounding = matrix_rounding(fiber);
  for (uint32_t i = 0; i < tile_values; ++i)
    for (uint32_t phase = 0; phase < fiber.kernel->phases; ++phase) {
      const float x = phase & 1 ? other_digits(Side::A, a[i]) : first_digits(Side::A, a[i]);
      const float y = phase & 2 ? other_digits(Side::B, b[i]) : first_digits(Side::B, b[i]);
      if (x == 0.0f || y == 0.0f) continue;
      out[i] = computed(out[i] + x * y);
      if (rounding != Rounding::None) out[i] = ToNearestAway::apply(out[i]);
    }
}

// With 32 bits nothing is rounded, and four phases leave nothing out.
bool shows_phases(const Fiber& fiber) {
  return rounds_like_chip(fiber) && (dst_is_16_bit(fiber) || fiber.kernel->phases == 3);
}

using ckernel::EltwiseBinaryType;

FpuKind kind_of(EltwiseBinaryType type) {
  if (type == EltwiseBinaryType::ELWADD) return FpuKind::Add;
  return type == EltwiseBinaryType::ELWSUB ? FpuKind::Subtract : FpuKind::Multiply;
}

const char* name_of(EltwiseBinaryType type) {
  if (type == EltwiseBinaryType::ELWADD) return "add_tiles";
  return type == EltwiseBinaryType::ELWSUB ? "sub_tiles" : "mul_tiles";
}

constexpr uint8_t reuse_form = 8;  // after the forms of BroadcastType

}  // namespace

void check_mode(const Compute& compute, FpuMode mode, const char* call, int line) {
  if (compute.mode.kind != mode.kind)
    fault(line, "%s needs %s, but the last init was %s", call, mode_names[int(mode.kind)],
          mode_names[int(compute.mode.kind)]);
  if (compute.mode.form != mode.form)
    fault(line, "%s needs the init of its own form, but the last %s was for another one", call,
          mode_names[int(mode.kind)]);
}

void begin_mode(FpuMode mode) {
  Compute& compute = compute_of(self());
  compute.mode = mode;
  compute.accumulates = false;
}

void unpack(const Fiber& fiber, const CircularBuffer& buffer, const uint8_t* tile, float* values) {
  buffer.format->unpack(tile, values);
  if (is_cut_off(buffer) && !dst_is_16_bit(fiber)) tile_math().copy(values, values, Rounding::Tf32);
}

namespace {

float* values_of(Compute& compute, Side side) {
  return side == Side::A ? compute.source_a_values : compute.source_b_values;
}

// Where a source finds the tile.
const uint8_t* source_tile(Fiber& fiber, Side side, CircularBuffer& buffer, uint32_t tile, int line) {
  const Compute& compute = compute_of(fiber);
  const bool is_a = side == Side::A;
  check_format(compute, is_a ? compute.source_a : compute.source_b, buffer,
               is_a ? "source A" : "source B", line);
  return front_tile(fiber, buffer, tile, line);
}

const uint8_t* matrix_tile(Fiber& fiber, Side side, CircularBuffer& buffer, uint32_t tile, int line) {
  check_matrix_operand(buffer, line);
  return source_tile(fiber, side, buffer, tile, line);
}

void load_matrix_to(Fiber& fiber, Side side, CircularBuffer& buffer, uint32_t tile, float* values,
                    int line) {
  unpack(fiber, buffer, matrix_tile(fiber, side, buffer, tile, line), values);
  if (is_cut_off(buffer) && dst_is_16_bit(fiber)) tile_math().copy(values, values, Rounding::Tf32);
}

}  // namespace

float* load(Fiber& fiber, Side side, uint32_t index, uint32_t tile, int line) {
  float* values = values_of(compute_of(fiber), side);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  unpack(fiber, buffer, source_tile(fiber, side, buffer, tile, line), values);
  return values;
}

float* load_matrix(Fiber& fiber, Side side, uint32_t index, uint32_t tile, int line) {
  float* values = values_of(compute_of(fiber), side);
  load_matrix_to(fiber, side, buffer_at(fiber, index, line), tile, values, line);
  return values;
}

// The multipliers take 5 digits of source A and 7 of source B, the leading 1 included. Phase 1 takes
// the next 5 of A, phase 2 the rest of B, phase 3 both (ISA documentation, SrcASrcB.md). Three phases
// are four here: what they leave out is 2^-10 of a product at most, and would take a second one. Only
// where all is rounded like on the chip they are three.
float first_digits(Side side, float value) {
  return float_of(bits_of(value) & ~0u << (23 - (side == Side::A ? 4 : 6)));
}

float other_digits(Side side, float value) {
  const float first = first_digits(side, value);
  return first == value ? 0.0f : value - first;  // of an infinity nothing is left
}

void keep_factor(const Fiber& fiber, Side side, const TileFormat& format, float* values) {
  const uint32_t phases = fiber.kernel->phases;
  const uint32_t digits = side == Side::A ? (phases == 1 ? 4 : 9) : (phases <= 2 ? 6 : 10);
  if (digits >= (format.fits_16_bit_dst ? 7 : 10)) return;
  const uint32_t kept = ~0u << (23 - digits);
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = float_of(bits_of(values[i]) & kept);
}

void load_factor_to(Fiber& fiber, Side side, uint32_t index, uint32_t tile, float* values,
                    int line) {
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  load_matrix_to(fiber, side, buffer, tile, values, line);
  keep_factor(fiber, side, *buffer.format, values);
}

float* load_factor(Fiber& fiber, Side side, uint32_t index, uint32_t tile, int line) {
  float* values = values_of(compute_of(fiber), side);
  load_factor_to(fiber, side, index, tile, values, line);
  return values;
}

void begin_move(FpuMode mode, uint32_t buffer) {
  begin_mode(mode);
  compute_of(self()).moved = source_of(buffer_at(self(), buffer, 0));
}

void check_copied(Fiber& fiber, const CircularBuffer& buffer, int line) {
  check_move(fiber, buffer, line);
  const Compute& compute = compute_of(fiber);
  check_format(compute, compute.source_a, buffer, "source A", line);
}

void check_packer(const Compute& compute, const CircularBuffer& buffer, int line) {
  if (compute.packer != buffer.format)
    fault(line, "the packer is configured for %s but `%s` holds %s: pack_reconfig_data_format is "
          "missing", compute.packer->name, buffer.plan->name, buffer.format->name);
}

void round_moved(Fiber& fiber, const TileFormat& format, float* values) {
  if (dst_is_16_bit(fiber) && !format.fits_16_bit_dst && !format.is_integer)
    tile_math().copy(values, values, Rounding::NearestEven);
}

// To a 32-bit DST what has 16 bits comes by a sum with zeros, in which -0 becomes +0; so it is of what
// the matrix unit reads, which makes no -0 either.
void add_zeros(Fiber& fiber, const TileFormat& format, float* values) {
  if (dst_is_16_bit(fiber) || format.is_integer || format.tile_bytes == 4096) return;
  tile_math().plus_zero(values);
}

void transpose_values(float* values) {
  transpose_faces(values);
  transpose_within_faces(values);
}

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/tile_move_copy.h: copy_init
void begin_copy(uint32_t buffer, uint32_t transpose, uint32_t within_face) {
  const auto form = static_cast<uint8_t>((transpose ? 1 : 0) | (within_face ? 2 : 0));
  begin_move({FpuKind::Copy, form}, buffer);
}

// api/compute/tile_move_copy.h: copy_tile. Overwrites.
void copy_to_slot(uint32_t index, uint32_t tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  check_mode(compute, {FpuKind::Copy, compute.mode.form}, "copy_tile", line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_copied(fiber, buffer, line);
  float* out = overwritten_slot(fiber, slot, line);
  unpack(fiber, buffer, front_tile(fiber, buffer, tile, line), out);
  if (compute.mode.form & 1) transpose_faces(out);
  if (compute.mode.form & 2) transpose_within_faces(out);
  round_moved(fiber, *buffer.format, out);
  add_zeros(fiber, *buffer.format, out);
}

// api/compute/transpose.h: transpose_init
void begin_transpose(uint32_t buffer) { begin_move({FpuKind::Transpose, 0}, buffer); }

// api/compute/transpose.h: transpose_tile. Overwrites.
void transpose_to_slot(uint32_t index, uint32_t tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  check_mode(compute_of(fiber), {FpuKind::Transpose, 0}, "transpose_tile", line);
  check_move(fiber, buffer_at(fiber, index, line), line);
  float* out = overwritten_slot(fiber, slot, line);
  memcpy(out, load(fiber, Side::A, index, tile, line), tile_values * sizeof(float));
  transpose_values(out);
  round_moved(fiber, *buffer_at(fiber, index, line).format, out);
  add_zeros(fiber, *buffer_at(fiber, index, line).format, out);
}

// api/compute/transpose_dest.h: transpose_dest_init
void begin_transpose_dest(bool of_faces) {
  begin_mode({FpuKind::TransposeDest, static_cast<uint8_t>(of_faces)});
}

// api/compute/transpose_dest.h: transpose_dest
void transpose_slot(uint32_t slot, bool of_faces, int line) {
  Fiber& fiber = self(line);
  check_mode(compute_of(fiber), {FpuKind::TransposeDest, static_cast<uint8_t>(of_faces)},
             "transpose_dest", line);
  float* values = slot_values(fiber, slot, line);
  if (of_faces) transpose_faces(values);
  transpose_within_faces(values);
}

// api/compute/bcast.h: unary_bcast_init
void begin_unary_broadcast(BroadcastType type, uint32_t buffer) {
  begin_move({FpuKind::UnaryBroadcast, static_cast<uint8_t>(type)}, buffer);
}

// api/compute/bcast.h: unary_bcast. Through source B, except where the unpacker writes to DST. Here
// 16-bit integers come to the upper half of a 32-bit DST, ready for the packer.
void broadcast_to_slot(BroadcastType type, uint32_t index, uint32_t tile, uint32_t slot,
                       int line) {
  Fiber& fiber = self(line);
  check_mode(compute_of(fiber), {FpuKind::UnaryBroadcast, static_cast<uint8_t>(type)},
             "unary_bcast", line);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  check_move(fiber, buffer, line);
  const bool through_a = type == BroadcastType::NONE || is_unpacked_to_dst(buffer);
  float* values = load(fiber, through_a ? Side::A : Side::B, index, tile, line);
  if (type == BroadcastType::ROW && !through_a && !dst_is_16_bit(fiber))
    return broadcast_row_to_half_slot(fiber, values, slot, line);
  if (type != BroadcastType::NONE) broadcast(values, type, 0);
  float* out = overwritten_slot(fiber, slot, line);
  memcpy(out, values, tile_values * sizeof(float));
  const bool to_upper_half = buffer.format->is_half_word && type != BroadcastType::NONE;
  for (uint32_t i = 0; to_upper_half && !dst_is_16_bit(fiber) && i < tile_values; ++i)
    out[i] = float_of(bits_of(out[i]) << 16);
  round_moved(fiber, *buffer.format, out);
  add_zeros(fiber, *buffer.format, out);
}

// api/compute/eltwise_binary.h: add_init and its like; bcast.h: bcast_init and its like. A product
// always accumulates; a sum where the init asks for it.
void begin_binary(EltwiseBinaryType type, BroadcastType broadcast, bool accumulates) {
  begin_mode({kind_of(type), static_cast<uint8_t>(broadcast)});
  compute_of(self()).accumulates = accumulates;
}

namespace {

// Sums of bfloat16 in a 32-bit DST, as most are: unpacked and added in one loop. False: they are not.
bool add_plain_tiles(Fiber& fiber, EltwiseBinaryType type, const BinaryTiles& call, float* out,
                     int line) {
  CircularBuffer& buffer_a = buffer_at(fiber, call.icb0, line);
  CircularBuffer& buffer_b = buffer_at(fiber, call.icb1, line);
  if (dst_is_16_bit(fiber) || !buffer_a.format->is_bfloat16 || !buffer_b.format->is_bfloat16) return false;
  const uint8_t* a = matrix_tile(fiber, Side::A, buffer_a, call.itile0, line);
  const uint8_t* b = matrix_tile(fiber, Side::B, buffer_b, call.itile1, line);
  const TileMath& math = tile_math();
  const bool adds = type == EltwiseBinaryType::ELWADD;
  (adds ? math.add_bfloat16 : math.subtract_bfloat16)(reinterpret_cast<const uint16_t*>(a),
                                                      reinterpret_cast<const uint16_t*>(b), out);
  return true;
}

}  // namespace

// api/compute/eltwise_binary.h: add_tiles, sub_tiles, mul_tiles; bcast.h: any_tiles_bcast.
void binary_tiles(EltwiseBinaryType type, BroadcastType type_of_b, const BinaryTiles& call,
                  int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  check_mode(compute, {kind_of(type), static_cast<uint8_t>(type_of_b)}, name_of(type), line);
  const bool adds_up = type == EltwiseBinaryType::ELWMUL || compute.accumulates;
  float* out = adds_up ? slot_values(fiber, call.idst, line)
                       : overwritten_slot(fiber, call.idst, line);
  if (!adds_up && type_of_b == BroadcastType::NONE &&
      add_plain_tiles(fiber, type, call, out, line))
    return;
  const auto load_operand = type == EltwiseBinaryType::ELWMUL ? load_factor : load_matrix;
  float* a = load_operand(fiber, Side::A, call.icb0, call.itile0, line);
  float* b = load_operand(fiber, Side::B, call.icb1, call.itile1, line);
  add_zeros(fiber, *buffer_at(fiber, call.icb0, line).format, a);
  add_zeros(fiber, *buffer_at(fiber, call.icb1, line).format, b);
  if (type_of_b != BroadcastType::NONE) broadcast(b, type_of_b, call.row);
  const TileMath& math = tile_math();
  const Rounding rounding = matrix_rounding(fiber);
  if (type == EltwiseBinaryType::ELWMUL && shows_phases(fiber))
    return multiply_in_phases(fiber, a, b, out);
  if (type == EltwiseBinaryType::ELWMUL) return math.multiply_accumulate(a, b, out, rounding);
  const auto loop = type == EltwiseBinaryType::ELWADD ? math.add : math.subtract;
  if (!adds_up) return loop(a, b, out, rounding);
  loop(a, b, a, Rounding::None);  // D += A op B has one rounding, at the end
  math.add(out, a, out, rounding);
}

// api/compute/eltwise_binary.h: add_reuse_dest_init and its like
void begin_reuse(EltwiseBinaryType type, EltwiseBinaryReuseDestType reuse) {
  begin_mode({kind_of(type), static_cast<uint8_t>(reuse_form + static_cast<int>(reuse))});
}

// api/compute/eltwise_binary.h: add_reuse_dest_tiles and its like. Overwrites. What comes from DST
// is cut off to the format of the source it goes to, for which the buffer's stands.
void reuse_tiles(EltwiseBinaryType type, EltwiseBinaryReuseDestType reuse, uint32_t index,
                 uint32_t tile, uint32_t slot, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  const bool dst_is_a = reuse == EltwiseBinaryReuseDestType::DEST_TO_SRCA;
  check_mode(compute, {kind_of(type), static_cast<uint8_t>(reuse_form + static_cast<int>(reuse))},
             name_of(type), line);
  float* out = slot_values(fiber, slot, line);
  float* from_buffer = load_matrix(fiber, dst_is_a ? Side::B : Side::A, index, tile, line);
  float* from_dst = dst_is_a ? compute.source_a_values : compute.source_b_values;
  const TileFormat& format = *buffer_at(fiber, index, line).format;
  tile_math().copy(out, from_dst, format.fits_16_bit_dst ? Rounding::Truncate : Rounding::Tf32);
  float* a = dst_is_a ? from_dst : from_buffer;
  float* b = dst_is_a ? from_buffer : from_dst;
  add_zeros(fiber, format, from_buffer);
  if (type == EltwiseBinaryType::ELWMUL) {
    keep_factor(fiber, Side::A, format, a);
    keep_factor(fiber, Side::B, format, b);
  }
  if (type == EltwiseBinaryType::ELWMUL && shows_phases(fiber)) {
    memset(out, 0, tile_values * sizeof(float));
    return multiply_in_phases(fiber, a, b, out);
  }
  const TileMath& math = tile_math();
  const auto loop = type == EltwiseBinaryType::ELWADD   ? math.add
                    : type == EltwiseBinaryType::ELWSUB ? math.subtract
                    : dst_is_16_bit(fiber)              ? math.multiply_zero_wins
                                                        : math.multiply;
  loop(a, b, out, matrix_rounding(fiber));
}

}  // namespace ckernel::detail
