// Powers, exponentials, trigonometry and activations of the vector unit. The chip's polynomials are
// not modelled: each function is computed in double precision and rounded once to float32.
#include "functions.h"
#include "vector_definitions.h"

#include "api/compute/compute_kernel_api.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/erf_erfc.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/eltwise_unary/fmod.h"
#include "api/compute/eltwise_unary/gelu.h"
#include "api/compute/eltwise_unary/mish.h"
#include "api/compute/eltwise_unary/rdiv.h"
#include "api/compute/eltwise_unary/recip.h"
#include "api/compute/eltwise_unary/remainder.h"
#include "api/compute/eltwise_unary/rpow.h"
#include "api/compute/eltwise_unary/rsqrt.h"
#include "api/compute/eltwise_unary/softplus.h"
#include "api/compute/eltwise_unary/trigonometry.h"

namespace ttl_host {

namespace {

// With the sign of the divisor; a rest of 0 stays 0.
double remainder_of(double a, double b) {
  const double rest = __builtin_fmod(a, b);
  return rest != 0.0 && (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

double softplus_of(double x) {
  return x > 0.0 ? x + __builtin_log1p(exponential(-x)) : __builtin_log1p(exponential(x));
}

double elu_of(double x, double alpha, double alpha_reciprocal) {
  return x >= 0.0 ? x : alpha * exponential_minus_one(x * alpha_reciprocal);
}

double gelu_tanh_of(double x) {
  const double inner = 0.79788456080286535588 * (x + 0.044715 * x * x * x);
  return 0.5 * x * (1.0 + hyperbolic_tangent(inner));
}

float in_direction(float value, ckernel::RoundingMode mode) {
  if (mode == ckernel::RoundingMode::Trunc) return __builtin_truncf(value);
  if (mode == ckernel::RoundingMode::Floor) return __builtin_floorf(value);
  return value;
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

using Real = double;

static float result(double value) { return computed(static_cast<float>(value)); }

// api/compute/eltwise_unary/exp.h
void exp_tile(uint32_t slot, bool scaled, uint16_t scale, VectorMode faces, int line) {
  Fiber& fiber =
      begin_call({"exp_tile", "exp_tile_init", Store::Rounded, faces, line});
  float* values = slot_values(fiber, slot, line);
  const float factor = scaled ? float_of(uint32_t{scale} << 16) : 1.0f;
  for_each_face(faces, [&](uint32_t first) {
    tile_math().exponential(values + first, face_values, factor, software_rounding(fiber));
  });
}

HEADER("compute_kernel_api.h")
OF_SLOT(WIDE(exp2_tile), WIDE(exp2_tile_init), Rounded,
        flushed(exponential(x * 0.69314718055994530942)))
OF_SLOT(APPROXIMATE(expm1_tile), APPROXIMATE(expm1_tile_init), Rounded, exponential_minus_one(x))
OF_SLOT(APPROXIMATE(log_tile), APPROXIMATE(log_tile_init), Rounded, __builtin_log(x))
OF_SLOT1(DECLARED(log_with_base_tile), log_tile_init, Rounded, __builtin_log(x) * p)
HEADER("eltwise_unary/log1p.h")
OF_SLOT(APPROXIMATE(log1p_tile), APPROXIMATE(log1p_tile_init), Rounded, __builtin_log1p(x))

HEADER("eltwise_unary/sqrt.h")
OF_SLOT(APPROXIMATE(sqrt_tile), sqrt_tile_init, Rounded, __builtin_sqrt(x))
OF_SLOT(DECLARED(rsqrt_tile), rsqrt_tile_init, Rounded, 1.0 / __builtin_sqrt(x))
OF_SLOT(DECLARED(recip_tile), recip_tile_init, Rounded, 1.0 / x)
HEADER("eltwise_unary/cbrt.h")
OF_SLOT(WIDE(cbrt_tile), cbrt_tile_init, Rounded, __builtin_cbrt(x))

// The reciprocal is rounded for a 16-bit DST, the product cut off.
void rdiv_tile(uint32_t slot, uint32_t value, uint32_t mode, VectorMode faces, int line) {
  const float dividend = float_of(value);
  const bool is_16_bit = dst_is_16_bit(self(line));
  const auto direction = static_cast<RoundingMode>(mode);
  map_slot(slot, {"rdiv_tile", "rdiv_tile_init", Store::Cut, faces, line},
           [=](float x) {
             const float reciprocal = 1.0f / x;
             const float rounded = ToNearestEven::apply(reciprocal);
             return computed(in_direction((is_16_bit ? rounded : reciprocal) * dividend, direction));
           });
}

HEADER("compute_kernel_api.h")
OF_SLOT1(WIDE(power_tile), power_tile_init, Rounded, __builtin_pow(x, p))
OF_SLOT1(DECLARED(rpow_tile), rpow_tile_init, Rounded, __builtin_pow(p, x))
HEADER("eltwise_binary_sfpu.h")
OF_SLOTS(WIDE(power_binary_tile), power_binary_tile_init, Rounded, __builtin_pow(a, b))

HEADER("eltwise_unary/trigonometry.h")
OF_SLOT(WIDE(sin_tile), sin_tile_init, Rounded, __builtin_sin(x))
OF_SLOT(WIDE(cos_tile), cos_tile_init, Rounded, __builtin_cos(x))
OF_SLOT(WIDE(tan_tile), tan_tile_init, Rounded, __builtin_tan(x))
OF_SLOT(WIDE(asin_tile), WIDE(asin_tile_init), Rounded, __builtin_asin(x))
OF_SLOT(WIDE(acos_tile), WIDE(asin_tile_init), Rounded, __builtin_acos(x))
OF_SLOT(WIDE(atan_tile), WIDE(atan_tile_init), Rounded, __builtin_atan(x))
OF_SLOT(WIDE(sinh_tile), WIDE(sinh_tile_init), Rounded, __builtin_sinh(x))
OF_SLOT(WIDE(cosh_tile), WIDE(cosh_tile_init), Rounded, __builtin_cosh(x))
OF_SLOT(WIDE(asinh_tile), WIDE(asinh_tile_init), Rounded, __builtin_asinh(x))
OF_SLOT(WIDE(acosh_tile), WIDE(asinh_tile_init), Rounded, __builtin_acosh(x))
OF_SLOT(WIDE(atanh_tile), WIDE(atanh_tile_init), Rounded, __builtin_atanh(x))
HEADER("compute_kernel_api.h")
OF_SLOT(APPROXIMATE(tanh_tile), APPROXIMATE(tanh_tile_init), Rounded, hyperbolic_tangent(x))

// Activations
OF_SLOT(DECLARED(sigmoid_tile), sigmoid_tile_init, Rounded, logistic(x))
HEADER("compute_kernel_api.h")
OF_SLOT(WIDE(silu_tile), silu_tile_init, Rounded, x * logistic(x))
OF_SLOT(DECLARED(gelu_tile), gelu_tile_init, Rounded, x * normal_distribution(x))
OF_SLOT(DECLARED(gelu_tanh_tile), gelu_tanh_tile_init, Rounded, gelu_tanh_of(x))
OF_SLOT(DECLARED(mish_tile), mish_tile_init, Rounded, x * hyperbolic_tangent(softplus_of(x)))
HEADER("eltwise_unary/activations.h")
OF_SLOT(softsign_tile, softsign_tile_init, Cut, x / (1.0 + __builtin_fabs(x)))
OF_SLOT(DECLARED(erf_tile), erf_tile_init, Cut, __builtin_erf(x))
HEADER("eltwise_unary/erf_erfc.h")
OF_SLOT(erfc_tile, erfc_tile_init, Cut, __builtin_erfc(x))
HEADER("eltwise_unary/elu.h")
OF_SLOT1(WIDE(elu_tile), PLAIN(elu_tile_init), Rounded, elu_of(x, p, 1.0))
HEADER("eltwise_unary/activations.h")
OF_SLOT2(WIDE(celu_tile), PLAIN(celu_tile_init), Rounded, elu_of(x, p, q))
HEADER("eltwise_unary/selu.h")
OF_SLOT2(WIDE(selu_tile), PLAIN(selu_tile_init), Rounded, x >= 0.0 ? p * x : p * elu_of(x, q, 1.0))

// The vendor's own approximation of it is 0 below -5; here it is the function.
void softplus_tile(uint32_t slot, uint32_t beta_bits, uint32_t reciprocal_bits,
                   uint32_t threshold_bits, VectorMode faces, int line) {
  const double beta = float_of(beta_bits), reciprocal = float_of(reciprocal_bits);
  const double threshold = float_of(threshold_bits);
  map_slot(slot, {"softplus_tile", "", Store::Rounded, faces, line},
           [=](float x) {
             const double t = beta * x;
             return result(t <= threshold ? softplus_of(t) * reciprocal : x);
           });
}

// api/compute/eltwise_unary/remainder.h, fmod.h: the divisor came with the init.
void remainder_tile(uint32_t slot, VectorMode faces, int line) {
  const double divisor = float_of(compute_of(self(line)).vector_parameter);
  map_slot(slot, {"remainder_tile", "remainder_tile_init", Store::Cut, faces, line},
           [=](float x) { return result(remainder_of(x, divisor)); });
}

void fmod_tile(uint32_t slot, VectorMode faces, int line) {
  const double divisor = float_of(compute_of(self(line)).vector_parameter);
  map_slot(slot, {"fmod_tile", "fmod_tile_init", Store::Cut, faces, line},
           [=](float x) { return result(__builtin_fmod(x, divisor)); });
}

HEADER("binary_remainder.h")
OF_SLOTS(WIDE(remainder_binary_tile), remainder_binary_tile_init, Rounded, remainder_of(a, b))
HEADER("binary_fmod.h")
OF_SLOTS(WIDE(fmod_binary_tile), fmod_binary_tile_init, Rounded, __builtin_fmod(a, b))

}  // namespace ckernel::detail
