// Integers in the vector unit: a slot then holds their bits, 16-bit ones in the lower half.
#include <cstdio>

#include "matrix_unit.h"
#include "ordering.h"
#include "vector_unit.h"

#include "api/compute/binary_max_min.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_unary/clamp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/eltwise_unary/remainder.h"
#include "api/compute/eltwise_unary/typecast.h"

namespace ttl_host {

namespace {

typedef uint32_t __attribute__((may_alias)) Word;

Word* words_of(Fiber& fiber, uint32_t slot, int line) {
  return reinterpret_cast<Word*>(slot_values(fiber, slot, line));
}

// A 32-bit integer does not fit a 16-bit DST, and the 16-bit ones are written for that.
void check_integer_width(Fiber& fiber, DataFormat format, const char* call, int line) {
  const bool is_16_bit = format == DataFormat::UInt16;
  if (is_16_bit != dst_is_16_bit(fiber))
    fault(line, "%s on %d-bit integers needs fp32_dest_acc_en to be %s", call,
          is_16_bit ? 16 : 32, is_16_bit ? "false" : "true");
}

template <typename Function>
void map_words(uint32_t slot, DataFormat format, const VectorCall& call, Function function) {
  Fiber& fiber = begin_call(call);
  check_integer_width(fiber, format, call.name, call.line);
  const uint32_t mask = format == DataFormat::UInt16 ? 0xffffu : 0xffffffffu;
  Word* words = words_of(fiber, slot, call.line);
  for (uint32_t i = 0; i < tile_values; ++i) words[i] = function(words[i]) & mask;
}

template <typename Function>
void map_word_pairs(uint32_t in0, uint32_t in1, uint32_t out, DataFormat format,
                    const VectorCall& call, Function function) {
  Fiber& fiber = begin_call(call);
  check_integer_width(fiber, format, call.name, call.line);
  const uint32_t mask = format == DataFormat::UInt16 ? 0xffffu : 0xffffffffu;
  const Word* a = words_of(fiber, in0, call.line);
  const Word* b = words_of(fiber, in1, call.line);
  Word* words = words_of(fiber, out, call.line);
  for (uint32_t i = 0; i < tile_values; ++i) words[i] = function(a[i], b[i]) & mask;
}

int64_t as_signed(uint32_t word) { return static_cast<int32_t>(word); }
uint32_t wrapped(int64_t value) { return static_cast<uint32_t>(value); }

// An integer divided by zero has no value. Kernels written by hand may do so where nobody reads the
// result; the chip gives something.
int64_t divisor(int64_t b, const char* sign) {
  if (b != 0) return b;
  Fiber& fiber = self();
  if (fiber.run->program->by_hand) return 0;
  snprintf(fiber.lane->message, sizeof(fiber.lane->message), "%s", sign);
  leave(fiber, TTL_NO_DIVISOR, static_cast<int>(fiber.line));
}

int64_t truncated_quotient(int64_t a, int64_t b) { return b == 0 ? 0 : a / b; }

int64_t floored_quotient(int64_t a, int64_t b) {
  const int64_t quotient = truncated_quotient(a, b);
  return b != 0 && a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

int64_t floored_rest(int64_t a, int64_t b) { return a - floored_quotient(a, b) * b; }
int64_t truncated_rest(int64_t a, int64_t b) { return a - truncated_quotient(a, b) * b; }

bool is_float(DataFormat format) {
  return format == DataFormat::Float32 || format == DataFormat::Float16_b ||
         format == DataFormat::Bfp8_b || format == DataFormat::Bfp4_b;
}

// Here a 16-bit integer may stand in a DST of either width. In one of 32 bits it comes from a buffer
// in the lower half of a word, and the packer takes it from the upper one.
void check_cast_width(Fiber& fiber, DataFormat format, int line) {
  if (!is_float(format) && format != DataFormat::UInt16 && format != DataFormat::UInt8)
    check_integer_width(fiber, format, "typecast_tile", line);
}

uint32_t reduced(ckernel::PoolType pool, uint32_t a, uint32_t b, DataFormat format) {
  const bool is_sum = pool == ckernel::PoolType::SUM;
  if (is_sum && format == DataFormat::Float32) return bits_of(computed(float_of(a) + float_of(b)));
  if (is_sum) return a + b;
  const bool is_less = format == DataFormat::Float32 ? order(float_of(a)) < order(float_of(b))
                       : format == DataFormat::Int32 ? as_signed(a) < as_signed(b)
                                                     : a < b;
  return is_less == (pool == ckernel::PoolType::MAX) ? b : a;
}

// Toward zero, and to the nearest end of the range; NaN gives the lower one.
double limited(double value, double low, double high) {
  return value >= high ? high : value > low ? value : low;
}

uint32_t integer_of(float value, DataFormat format) {
  if (format == DataFormat::Int32)
    return wrapped(static_cast<int64_t>(limited(value, -2147483648.0, 2147483647.0)));
  if (format == DataFormat::UInt32)
    return static_cast<uint32_t>(limited(value, 0.0, 4294967295.0));
  if (format == DataFormat::UInt8)  // modulo 256; all large floats are multiples of it
    return __builtin_fabsf(value) < 0x1p31f ? static_cast<int32_t>(value) & 0xff : 0;
  return static_cast<uint32_t>(limited(__builtin_floor(double{value} + 0.5), 0.0, 65535.0));
}

// To uint16 the nearest end of the range, to uint8 the last bits.
uint32_t integer_of(uint32_t word, DataFormat from, DataFormat to) {
  if (to == DataFormat::UInt8) return word & 0xffu;
  if (to != DataFormat::UInt16) return word;
  if (from == DataFormat::Int32 && as_signed(word) < 0) return 0;
  return word > 65535u ? 65535u : word;
}

float float_from(uint32_t word, DataFormat format) {
  return format == DataFormat::Int32 ? static_cast<float>(static_cast<int32_t>(word))
                                     : static_cast<float>(word);
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// name, init, format, value of the word x; s is x as a signed number
#define OF_SLOT(name, init, format, value)                                  \
  void name(uint32_t slot, VectorMode faces, int line) {                    \
    const VectorCall call CALL(name, init, Cut, faces);                     \
    map_words(slot, DataFormat::format, call, [](uint32_t x) -> uint32_t {  \
      [[maybe_unused]] const int64_t s = as_signed(x);                      \
      return value;                                                         \
    });                                                                     \
  }
// with the parameter p, and as a signed number t
#define OF_SLOT1(name, init, format, value)                                  \
  void name(uint32_t slot, uint32_t p, VectorMode faces, int line) {         \
    const VectorCall call CALL(name, init, Cut, faces);                      \
    [[maybe_unused]] const int64_t t = as_signed(p);                         \
    map_words(slot, DataFormat::format, call, [=](uint32_t x) -> uint32_t {  \
      [[maybe_unused]] const int64_t s = as_signed(x);                       \
      return value;                                                          \
    });                                                                      \
  }
// of the words a and b, which are s and t as signed numbers
#define OF_SLOTS(name, init, format, value)                                               \
  void name(uint32_t in0, uint32_t in1, uint32_t out, VectorMode faces, int line) {       \
    const VectorCall call CALL(name, init, Cut, faces);                                   \
    map_word_pairs(in0, in1, out, DataFormat::format, call, [](uint32_t a, uint32_t b) {  \
      [[maybe_unused]] const int64_t s = as_signed(a), t = as_signed(b);                  \
      return static_cast<uint32_t>(value);                                                \
    });                                                                                   \
  }
// of any of the three integer formats
#define OF_INTEGERS(name, init, value)                                                  \
  void name(uint32_t in0, uint32_t in1, uint32_t out, DataFormat format, int line) {    \
    const VectorCall call CALL(name, init, Cut, VectorMode::RC);                        \
    const bool is_signed = format == DataFormat::Int32;                                 \
    map_word_pairs(in0, in1, out, format, call, [=](uint32_t first, uint32_t second) {  \
      const int64_t a = is_signed ? as_signed(first) : int64_t{first};                  \
      const int64_t b = is_signed ? as_signed(second) : int64_t{second};                \
      return wrapped(value);                                                            \
    });                                                                                 \
  }
#define WITH_WORD(name, init, value)                                   \
  void name(uint32_t slot, DataFormat format, uint32_t p, int line) {  \
    map_words(slot, format, CALL(name, init, Cut, VectorMode::RC),     \
              [=](uint32_t x) -> uint32_t { return value; });          \
  }

HEADER("add_int_sfpu.h")
OF_INTEGERS(add_int_tile, PLAIN(add_int_tile_init), a + b)
HEADER("sub_int_sfpu.h")
OF_INTEGERS(sub_int_tile, PLAIN(sub_int_tile_init), a - b)
OF_INTEGERS(rsub_int_tile, PLAIN(rsub_int_tile_init), b - a)
HEADER("mul_int_sfpu.h")
OF_INTEGERS(mul_int_tile, BY_FORMAT(mul_int_tile_init), wrapped(a) * wrapped(b))

HEADER("binary_bitwise_sfpu.h")
OF_INTEGERS(bitwise_and_binary_tile, PLAIN(binary_bitwise_tile_init), a & b)
OF_INTEGERS(bitwise_or_binary_tile, PLAIN(binary_bitwise_tile_init), a | b)
OF_INTEGERS(bitwise_xor_binary_tile, PLAIN(binary_bitwise_tile_init), a ^ b)
HEADER("eltwise_unary/bitwise.h")
WITH_WORD(bitwise_and_tile, PLAIN(bitwise_and_tile_init), x & p)
WITH_WORD(bitwise_or_tile, PLAIN(bitwise_or_tile_init), x | p)
WITH_WORD(bitwise_xor_tile, PLAIN(bitwise_xor_tile_init), x ^ p)
HEADER("eltwise_unary/bitwise_not.h")
OF_SLOT(bitwise_not_tile, PLAIN(bitwise_not_tile_init), Int32, ~x)

// Zeros come in from above, and by 32 or more nothing is left.
HEADER("binary_shift.h")
OF_INTEGERS(binary_logical_right_shift_tile, PLAIN(binary_shift_tile_init),
            b < 0 || b >= 32 ? 0 : static_cast<int64_t>(wrapped(a) >> b))

HEADER("binary_comp.h")
OF_INTEGERS(eq_int_tile, PLAIN(BY_FORMAT(eq_int_tile_init)), a == b)
OF_INTEGERS(ne_int_tile, PLAIN(BY_FORMAT(ne_int_tile_init)), a != b)
OF_INTEGERS(lt_int_tile, PLAIN(BY_FORMAT(lt_int_tile_init)), a < b)
OF_INTEGERS(le_int_tile, PLAIN(BY_FORMAT(le_int_tile_init)), a <= b)
OF_INTEGERS(gt_int_tile, PLAIN(BY_FORMAT(gt_int_tile_init)), a > b)
OF_INTEGERS(ge_int_tile, PLAIN(BY_FORMAT(ge_int_tile_init)), a >= b)

HEADER("eltwise_unary/comp.h")
OF_SLOT(eqz_tile_int32, PLAIN(eqz_tile_init), Int32, s == 0)
OF_SLOT(nez_tile_int32, PLAIN(nez_tile_init), Int32, s != 0)
OF_SLOT(ltz_tile_int32, PLAIN(ltz_tile_init), Int32, s < 0)
OF_SLOT(lez_tile_int32, PLAIN(lez_tile_init), Int32, s <= 0)
OF_SLOT(gtz_tile_int32, PLAIN(gtz_tile_init), Int32, s > 0)
OF_SLOT(gez_tile_int32, PLAIN(gez_tile_init), Int32, s >= 0)
OF_SLOT(eqz_tile_uint16, PLAIN(eqz_tile_init), UInt16, x == 0)
OF_SLOT(nez_tile_uint16, PLAIN(nez_tile_init), UInt16, x != 0)
OF_SLOT(eqz_tile_uint32, PLAIN(eqz_tile_init), UInt32, x == 0)
OF_SLOT(nez_tile_uint32, PLAIN(nez_tile_init), UInt32, x != 0)
OF_SLOT1(unary_eq_tile_int32, PLAIN(unary_eq_tile_init), Int32, s == t)
OF_SLOT1(unary_ne_tile_int32, PLAIN(unary_ne_tile_init), Int32, s != t)
OF_SLOT1(unary_lt_tile_int32, PLAIN(unary_lt_tile_init), Int32, s < t)
OF_SLOT1(unary_le_tile_int32, PLAIN(unary_le_tile_init), Int32, s <= t)
OF_SLOT1(unary_gt_tile_int32, PLAIN(unary_gt_tile_init), Int32, s > t)
OF_SLOT1(unary_ge_tile_int32, PLAIN(unary_ge_tile_init), Int32, s >= t)

HEADER("compute_kernel_api.h")
OF_SLOT(abs_tile_int32, PLAIN(abs_tile_init), Int32, wrapped(s < 0 ? -s : s))
OF_SLOT(signbit_tile_int32, signbit_tile_int32_init, Int32, x >> 31)
HEADER("eltwise_unary/negative.h")
OF_SLOT(negative_tile_int32, PLAIN(negative_tile_init), Int32, wrapped(-s))
HEADER("eltwise_unary/relu.h")
OF_SLOT(relu_tile_int32, PLAIN(relu_tile_init), Int32, s < 0 ? 0 : x)
HEADER("compute_kernel_api.h")
OF_SLOT1(unary_max_int32_tile, unary_max_int32_tile_init, Int32, s > t ? x : p)
OF_SLOT1(unary_min_int32_tile, unary_min_int32_tile_init, Int32, s < t ? x : p)
OF_SLOT1(unary_max_uint32_tile, unary_max_uint32_tile_init, UInt32, x > p ? x : p)
OF_SLOT1(unary_min_uint32_tile, unary_min_uint32_tile_init, UInt32, x < p ? x : p)

HEADER("eltwise_unary/binop_with_scalar.h")
OF_SLOT1(add_unary_tile_int32, PLAIN(binop_with_scalar_tile_init), Int32, x + p)
OF_SLOT1(sub_unary_tile_int32, PLAIN(binop_with_scalar_tile_init), Int32, x - p)
HEADER("eltwise_unary/rsub.h")
OF_SLOT1(rsub_unary_int32_tile, PLAIN(rsub_unary_int32_tile_init), Int32, p - x)
HEADER("eltwise_unary/remainder.h")
OF_SLOT1(remainder_tile_uint32, remainder_tile_uint32_init, UInt32, p == 0 ? 0 : x % p)

HEADER("binary_max_min.h")
OF_SLOTS(binary_max_int32_tile, binary_max_int32_tile_init, Int32, s > t ? a : b)
OF_SLOTS(binary_min_int32_tile, binary_min_int32_tile_init, Int32, s < t ? a : b)
OF_SLOTS(binary_max_uint32_tile, binary_max_uint32_tile_init, UInt32, a > b ? a : b)
OF_SLOTS(binary_min_uint32_tile, binary_min_uint32_tile_init, UInt32, a < b ? a : b)

HEADER("div_int32_floor.h")
OF_SLOTS(div_int32_floor_tile, div_int32_floor_tile_init, Int32,
         wrapped(floored_quotient(s, divisor(t, "//"))))
OF_SLOTS(div_int32_trunc_tile, div_int32_trunc_tile_init, Int32,
         wrapped(truncated_quotient(s, t)))
HEADER("binary_remainder.h")
OF_SLOTS(remainder_int32_tile, remainder_int32_tile_init, Int32,
         wrapped(floored_rest(s, divisor(t, "%"))))
OF_SLOTS(remainder_uint32_tile, remainder_uint32_tile_init, UInt32,
         divisor(b, "%") == 0 ? 0 : a % b)
HEADER("binary_fmod.h")
OF_SLOTS(fmod_int32_tile, fmod_int32_tile_init, Int32, wrapped(truncated_rest(s, t)))

// api/compute/eltwise_unary/clamp.h
void clamp_tile_int32(uint32_t slot, uint32_t low, uint32_t high, VectorMode faces, int line) {
  map_words(slot, DataFormat::Int32,
            {"clamp_tile_int32", "", Store::Cut, faces, line}, [=](uint32_t x) {
              const uint32_t raised = as_signed(x) > as_signed(low) ? x : low;
              return as_signed(raised) < as_signed(high) ? raised : high;
            });
}

// api/compute/eltwise_unary/fill.h
void fill_tile_int(uint32_t slot, DataFormat format, uint32_t value, int line) {
  map_words(slot, format, {"fill_tile_int", "", Store::Cut, VectorMode::RC, line},
            [=](uint32_t) { return value; });
}

// api/compute/eltwise_unary/typecast.h. Floats are rounded to uint16, ties away from zero; to the
// others they lose their fraction.
void typecast_tile(uint32_t slot, DataFormat from, DataFormat to, int line) {
  Fiber& fiber = begin_call({"typecast_tile", "typecast_tile_init", Store::Rounded,
                             VectorMode::RC, line});
  const uint32_t setting = static_cast<uint32_t>(from) * 256 + static_cast<uint32_t>(to);
  if (compute_of(fiber).vector_parameter != setting)
    fault(line, "typecast_tile needs the typecast_tile_init of its own formats");
  check_cast_width(fiber, from, line);
  check_cast_width(fiber, to, line);
  float* values = slot_values(fiber, slot, line);
  Word* words = words_of(fiber, slot, line);
  const Rounding rounding = to == DataFormat::Float32 ? software_rounding(fiber)
                                                      : Rounding::NearestEven;
  if (is_float(from) && is_float(to)) return tile_math().copy(values, values, rounding);
  const bool is_wide = !dst_is_16_bit(fiber);
  for (uint32_t i = 0; i < tile_values; ++i) {
    if (from == DataFormat::UInt16) words[i] &= 0xffffu;
    if (is_float(to))
      values[i] = float_from(words[i], from);
    else
      words[i] = is_float(from) ? integer_of(values[i], to) : integer_of(words[i], from, to);
    if (to == DataFormat::UInt16 && is_wide) words[i] <<= 16;
  }
  if (is_float(to)) tile_math().copy(values, values, rounding);
}

// api/compute/compute_kernel_api.h. Sums of integers wrap around. Beside the row or column of results the tile
// holds what was left of the calculation.
void sfpu_reduce(uint32_t slot, PoolType pool, DataFormat format, ReduceDim dim, int line) {
  Fiber& fiber = begin_call({"sfpu_reduce", "sfpu_reduce_init", Store::Cut,
                             VectorMode::RC, line});
  const uint32_t setting = static_cast<uint32_t>(pool) * 256 + static_cast<uint32_t>(format);
  if (compute_of(fiber).vector_parameter != setting)
    fault(line, "sfpu_reduce needs the sfpu_reduce_init of its own pool type and format");
  check_integer_width(fiber, format, "sfpu_reduce", line);
  Word* words = words_of(fiber, slot, line);
  const bool by_row = dim == ReduceDim::REDUCE_ROW;
  uint32_t results[32];
  for (uint32_t i = 0; i < 32; ++i) {
    results[i] = words[by_row ? place_of(i, 0) : place_of(0, i)];
    for (uint32_t j = 1; j < 32; ++j)
      results[i] =
          reduced(pool, results[i], words[by_row ? place_of(i, j) : place_of(j, i)], format);
  }
  for (uint32_t i = 0; i < tile_values; ++i) words[i] = 0xa5a5a5a5u;
  for (uint32_t i = 0; i < 32; ++i) words[by_row ? place_of(i, 0) : place_of(0, i)] = results[i];
}

}  // namespace ckernel::detail
