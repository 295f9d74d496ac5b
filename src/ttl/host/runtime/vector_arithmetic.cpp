// Arithmetic, comparisons and selection of the vector unit. Each function does what the header that
// declares it says, and the ckernel_sfpu source under it; where a 16-bit DST gets the result cut
// off and where rounded is theirs too.
#include <cstring>

#include "ordering.h"
#include "vector_definitions.h"

#include "api/compute/binary_max_min.h"
#include "api/compute/compute_kernel_api.h"
#include "api/compute/copy_dest_values.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/clamp.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/logical_not.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/eltwise_unary/rounding.h"
#include "api/compute/eltwise_unary/where.h"
#include "api/compute/mask.h"

namespace ttl_host {

namespace {

constexpr float infinity = __builtin_inff();

float clamped(float x, float low, float high) { return smaller(larger(x, low), high); }
float one_if(bool condition) { return condition ? 1.0f : 0.0f; }

// Below 2^23 by way of an integer; above it a float has no fraction. The sign of zero stays.
float truncated(float x) {
  const float whole = __builtin_fabsf(x) < 8388608.0f
                          ? static_cast<float>(static_cast<int32_t>(x)) : x;
  return __builtin_copysignf(whole, x);
}

float rounded_down(float x) {
  const float whole = truncated(x);
  return whole > x ? whole - 1.0f : whole;
}

float rounded_up(float x) {
  const float whole = truncated(x);
  return whole < x ? whole + 1.0f : whole;
}

float rounded_even(float x) {
  const float magnitude = __builtin_fabsf(x);
  const float whole = magnitude + 8388608.0f - 8388608.0f;
  return magnitude < 8388608.0f ? __builtin_copysignf(whole, x) : x;
}

// ckernel_sfpu_rounding_ops.h: a table from 1e-45 to 1e38; beyond it 0 and infinity.
float power_of_ten(int n) {
  if (n > 38) return infinity;
  if (n < -45) return 0.0f;
  return static_cast<float>(__builtin_pow(10.0, n));
}

// ckernel_sfpu_unary_power.h: calculate_unary_power_iterative
float integral_power(float x, uint32_t exponent) {
  if (exponent == 0) return 1.0f;
  float result = x;
  for (uint32_t left = exponent - 1; left > 0; left >>= 1) {
    if (left & 1) result *= x;
    x *= x;
  }
  return result;
}

void check_width(Fiber& fiber, const char* call, bool wants_16_bit, int line) {
  if (dst_is_16_bit(fiber) != wants_16_bit)
    fault(line, "%s is asked for a %s DST, but this one has %s bits", call,
          wants_16_bit ? "16-bit" : "32-bit", wants_16_bit ? "32" : "16");
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

using Real = float;

// Rows that compute, and do not only choose, say so: computed().
static float result(float value) { return value; }

HEADER("compute_kernel_api.h")
OF_SLOT(abs_tile, PLAIN(abs_tile_init), Cut, __builtin_fabsf(x))
OF_SLOT(sign_tile, PLAIN(sign_tile_init), Cut, x == 0.0f ? 0.0f : __builtin_copysignf(1.0f, x))
OF_SLOT(signbit_tile, signbit_tile_init, Cut, one_if(bits_of(x) >> 31))
OF_SLOT(WIDE(square_tile), square_tile_init, Rounded, computed(x * x))
OF_SLOT1(heaviside_tile, PLAIN(heaviside_tile_init), Cut,
         x == 0.0f ? p : one_if(bits_of(x) >> 31 == 0))
OF_SLOT1(unary_max_tile, unary_max_tile_init, Cut, larger(x, p))
OF_SLOT1(unary_min_tile, unary_min_tile_init, Cut, smaller(x, p))

void power_iterative_tile(uint32_t slot, uint32_t exponent, VectorMode faces, int line) {
  map_slot(slot, {"power_iterative_tile", "", Store::Cut, faces, line},
           [exponent](float x) { return computed(integral_power(x, exponent)); });
}

HEADER("eltwise_unary/negative.h")
OF_SLOT(negative_tile, PLAIN(negative_tile_init), Cut, -x)
HEADER("eltwise_unary/identity.h")
OF_SLOT(identity_tile, PLAIN(identity_tile_init), Cut, x)

HEADER("eltwise_unary/relu.h")
OF_SLOT(relu_tile, PLAIN(relu_tile_init), Cut, larger(x, 0.0f))
OF_SLOT1(relu_min_tile, PLAIN(relu_min_tile_init), Cut, larger(x, p))
OF_SLOT1(relu_max_tile, PLAIN(relu_max_tile_init), Cut, larger(smaller(x, p), 0.0f))
OF_SLOT1(DECLARED(leaky_relu_tile), PLAIN(leaky_relu_tile_init), Cut,
         computed(x < 0.0f ? x * p : x))
HEADER("eltwise_unary/prelu.h")
OF_SLOT1(prelu_tile, PLAIN(prelu_tile_init), Cut, computed(x < 0.0f ? x * p : x))

HEADER("eltwise_unary/clamp.h")
OF_SLOT2(clamp_tile, PLAIN(clamp_tile_init), Cut, clamped(x, p, q))
HEADER("eltwise_unary/hardtanh.h")
OF_SLOT2(hardtanh_tile, PLAIN(hardtanh_tile_init), Cut, clamped(x, p, q))
HEADER("eltwise_unary/threshold.h")
OF_SLOT2(threshold_tile, PLAIN(threshold_tile_init), Cut, x <= p ? q : x)

HEADER("eltwise_unary/activations.h")
OF_SLOT(hardsigmoid_tile, hardsigmoid_tile_init, Cut,
        clamped(computed(x * 0.1666666716337204f + 0.5f), 0.0f, 1.0f))
OF_SLOT1(softshrink_tile, PLAIN(softshrink_tile_init), Cut, x > p ? x - p : x < -p ? x + p : 0.0f)
OF_SLOT1(hardshrink_tile, PLAIN(hardshrink_tile_init), Cut, x > p || x < -p ? x : 0.0f)

HEADER("eltwise_unary/rounding.h")
OF_SLOT(floor_tile, PLAIN(rounding_op_tile_init), Cut, computed(rounded_down(x)))
OF_SLOT(ceil_tile, PLAIN(rounding_op_tile_init), Cut, computed(rounded_up(x)))
OF_SLOT(trunc_tile, PLAIN(rounding_op_tile_init), Cut, computed(truncated(x)))
OF_SLOT(frac_tile, PLAIN(rounding_op_tile_init), Cut, computed(x - truncated(x)))

// The parameter of div is 1 / s.
HEADER("eltwise_unary/binop_with_scalar.h")
OF_SLOT1(WIDE(add_unary_tile), PLAIN(binop_with_scalar_tile_init), Cut, computed(x + p))
OF_SLOT1(WIDE(sub_unary_tile), PLAIN(binop_with_scalar_tile_init), Cut, computed(x - p))
OF_SLOT1(WIDE(mul_unary_tile), PLAIN(binop_with_scalar_tile_init), Cut, computed(x * p))
OF_SLOT1(WIDE(div_unary_tile), PLAIN(binop_with_scalar_tile_init), Cut, computed(x * p))
OF_SLOT1(WIDE(rsub_unary_tile), PLAIN(binop_with_scalar_tile_init), Rounded, computed(p - x))
HEADER("eltwise_unary/rsub.h")
OF_SLOT1(WIDE(rsub_tile), PLAIN(rsub_tile_init), Rounded, computed(p - x))

HEADER("eltwise_unary/comp.h")
OF_SLOT(eqz_tile, PLAIN(eqz_tile_init), Cut, one_if(x == 0.0f))
OF_SLOT(nez_tile, PLAIN(nez_tile_init), Cut, one_if(x != 0.0f))
OF_SLOT(ltz_tile, PLAIN(ltz_tile_init), Cut, one_if(x < 0.0f))
OF_SLOT(lez_tile, PLAIN(lez_tile_init), Cut, one_if(x <= 0.0f))
OF_SLOT(gtz_tile, PLAIN(gtz_tile_init), Cut, one_if(x > 0.0f))
OF_SLOT(gez_tile, PLAIN(gez_tile_init), Cut, one_if(x >= 0.0f))
OF_SLOT1(unary_eq_tile, PLAIN(unary_eq_tile_init), Cut, one_if(x == p))
OF_SLOT1(unary_ne_tile, PLAIN(unary_ne_tile_init), Cut, one_if(x != p))
OF_SLOT1(unary_lt_tile, PLAIN(unary_lt_tile_init), Cut, one_if(x < p))
OF_SLOT1(unary_le_tile, PLAIN(unary_le_tile_init), Cut, one_if(x <= p))
OF_SLOT1(unary_gt_tile, PLAIN(unary_gt_tile_init), Cut, one_if(x > p))
OF_SLOT1(unary_ge_tile, PLAIN(unary_ge_tile_init), Cut, one_if(x >= p))

HEADER("eltwise_unary/isinf_isnan.h")
OF_SLOT(isinf_tile, PLAIN(isinf_tile_init), Cut, one_if(__builtin_fabsf(x) == infinity))
OF_SLOT(isposinf_tile, PLAIN(isposinf_tile_init), Cut, one_if(x == infinity))
OF_SLOT(isneginf_tile, PLAIN(isneginf_tile_init), Cut, one_if(x == -infinity))
OF_SLOT(isnan_tile, PLAIN(isnan_tile_init), Cut, one_if(x != x))
OF_SLOT(isfinite_tile, PLAIN(isfinite_tile_init), Cut, one_if(__builtin_fabsf(x) < infinity))

HEADER("eltwise_binary_sfpu.h")
OF_SLOTS(WIDE(div_binary_tile), div_binary_tile_init, Rounded, computed(a / b))
OF_SLOTS(eq_binary_tile, PLAIN(eq_binary_tile_init), Cut, one_if(a == b))
OF_SLOTS(ne_binary_tile, PLAIN(ne_binary_tile_init), Cut, one_if(a != b))
OF_SLOTS(lt_binary_tile, PLAIN(lt_binary_tile_init), Cut, one_if(a < b))
OF_SLOTS(le_binary_tile, PLAIN(le_binary_tile_init), Cut, one_if(a <= b))
OF_SLOTS(gt_binary_tile, PLAIN(gt_binary_tile_init), Cut, one_if(a > b))
OF_SLOTS(ge_binary_tile, PLAIN(ge_binary_tile_init), Cut, one_if(a >= b))
OF_SLOTS(DECLARED(binary_max_tile), binary_max_tile_init, Cut, larger(a, b))
OF_SLOTS(DECLARED(binary_min_tile), binary_min_tile_init, Cut, smaller(a, b))

namespace {

using BinaryLoop = void (*)(const float*, const float*, float*, Rounding);

void on_slots(uint32_t in0, uint32_t in1, uint32_t out, BinaryLoop loop, Rounding rounding,
              int line) {
  Fiber& fiber = self(line);
  const float* a = slot_values(fiber, in0, line);
  const float* b = slot_values(fiber, in1, line);
  loop(a, b, slot_values(fiber, out, line), rounding);
}

Rounding chosen_rounding(DstRoundingMode mode) {
  return rounding_of(self(),
                     mode == DstRoundingMode::NearestEven ? Store::Rounded : Store::Cut);
}

}  // namespace

// api/compute/eltwise_binary_sfpu.h
void add_binary_tile(uint32_t in0, uint32_t in1, uint32_t out, DstRoundingMode mode, int line) {
  on_slots(in0, in1, out, tile_math().add, chosen_rounding(mode), line);
}

void sub_binary_tile(uint32_t in0, uint32_t in1, uint32_t out, DstRoundingMode mode, int line) {
  on_slots(in0, in1, out, tile_math().subtract, chosen_rounding(mode), line);
}

void rsub_binary_tile(uint32_t in0, uint32_t in1, uint32_t out, DstRoundingMode mode, int line) {
  on_slots(in1, in0, out, tile_math().subtract, chosen_rounding(mode), line);
}

// api/compute/eltwise_binary_sfpu.h. In a 16-bit DST it rounds in software and 0 * x is 0 for every
// x (ckernel_sfpu_binary.h, calculate_sfpu_binary_mul).
void mul_binary_tile(uint32_t in0, uint32_t in1, uint32_t out, VectorMode, int line) {
  const TileMath& math = tile_math();
  const Fiber& fiber = self(line);
  on_slots(in0, in1, out, dst_is_16_bit(fiber) ? math.multiply_zero_wins : math.multiply,
           software_rounding(fiber), line);
}

// api/compute/eltwise_unary/fill.h: a plain store, so a 16-bit DST gets the value cut off.
void fill_tile_bitcast(uint32_t slot, uint32_t bits, VectorMode, int line) {
  Fiber& fiber = self(line);
  const float value = float_of(dst_is_16_bit(fiber) ? bits & 0xffff0000u : bits);
  float* out = overwritten_slot(fiber, slot, line);
  for (uint32_t i = 0; i < tile_values; ++i) out[i] = value;
}

// api/compute/eltwise_unary/where.h: the bits are tested, so minus zero is not zero.
void where_tile(uint32_t condition, uint32_t yes, uint32_t no, uint32_t out, DataFormat format,
                int line) {
  Fiber& fiber = begin_call({"where_tile", "where_tile_init", Store::Cut,
                             VectorMode::RC, line});
  check_width(fiber, "where_tile", format == DataFormat::Float16_b, line);
  const float* c = slot_values(fiber, condition, line);
  const float* a = slot_values(fiber, yes, line);
  const float* b = slot_values(fiber, no, line);
  float* values = slot_values(fiber, out, line);
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = bits_of(c[i]) ? a[i] : b[i];
}

// api/compute/eltwise_unary/logical_not.h: a test of bits; integers give the integer 1.
void logical_not_tile(uint32_t slot, DataFormat format, int line) {
  const bool is_integer = format == DataFormat::Int32 || format == DataFormat::UInt32 ||
                          format == DataFormat::UInt16;
  const float one = is_integer ? float_of(1) : 1.0f;
  float* values = slot_values(self(line), slot, line);
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = bits_of(values[i]) ? 0.0f : one;
}

// api/compute/copy_dest_values.h: `format` describes DST; a 32-bit one copied as 16-bit is cut off.
void copy_dest_values(uint32_t in, uint32_t out, DataFormat format, int line) {
  Fiber& fiber = self(line);
  const float* from = slot_values(fiber, in, line);
  float* to = overwritten_slot(fiber, out, line);
  if (format == DataFormat::Float16_b && !dst_is_16_bit(fiber))
    tile_math().copy(from, to, Rounding::Truncate);
  else
    memmove(to, from, tile_values * sizeof(float));
}

// api/compute/eltwise_unary/rounding.h. A product at the end: the vector unit makes no -0.
void round_tile(uint32_t slot, int32_t decimals, int line) {
  const float coefficient = power_of_ten(decimals), inverse = power_of_ten(-decimals);
  map_slot(slot, {"round_tile", "", Store::Cut, VectorMode::RC, line},
           [=](float x) { return computed(inverse * rounded_even(x * coefficient) + 0.0f); });
}

namespace {

void put_where_zero(uint32_t slot, float value, int line) {
  Fiber& fiber = self(line);
  float* values = slot_values(fiber, slot, line);
  const float* mask = slot_values(fiber, slot + 1, line);
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = mask[i] == 0.0f ? value : values[i];
}

}  // namespace

// api/compute/mask.h. Another format than these masks nothing.
void mask_tile(uint32_t slot, DataFormat format, int line) {
  const bool is_known = format == DataFormat::Float16_b || format == DataFormat::Float16 ||
                        format == DataFormat::Int32;
  if (is_known) put_where_zero(slot, 0.0f, line);
}

// api/compute/mask.h
void mask_posinf_tile(uint32_t slot, int line) { put_where_zero(slot, infinity, line); }

}  // namespace ckernel::detail
