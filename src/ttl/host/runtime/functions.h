// Functions in double precision, so that one rounding to float32 is left. What is written out here
// gives the same bits on every machine and becomes vector code; the rest is the C library's.
#pragma once

#include <cstdint>

namespace ttl_host {

// e^x with an error below 1e-15; 0 and infinity far beyond what a float32 holds.
inline double exponential(double value) {
  const double x = value < -700.0 ? -700.0 : value > 700.0 ? 700.0 : value;
  const double shifter = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double shifted = x * 1.4426950408889634 + shifter;
  const double n = shifted - shifter;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t bits;
  __builtin_memcpy(&bits, &shifted, 8);
  bits = (bits + 1023) << 52;  // 2^n: the integer stands in the low bits of `shifted`
  double power;
  __builtin_memcpy(&power, &bits, 8);
  const double result = p * power;
  return value < -700.0 ? 0.0 : value > 700.0 ? __builtin_inf() : result;
}

// Below the least normal number the chip gives 0.
inline float flushed(double value) {
  const float result = static_cast<float>(value);
  return result < 1.17549435e-38f ? 0.0f : result;
}

// Near 0 the difference of two numbers near 1 would have few digits left.
inline double exponential_minus_one(double x) {
  const double series = x * (1.0 + x * (0.5 + x * (1.0 / 6.0)));
  const double difference = exponential(x) - 1.0;
  return x < 0x1p-12 && x > -0x1p-12 ? series : difference;
}

inline double hyperbolic_tangent(double x) {
  const double series = x * (1.0 - x * x * (1.0 / 3.0));
  const double quotient = 1.0 - 2.0 / (exponential(2.0 * x) + 1.0);
  return x < 0x1p-12 && x > -0x1p-12 ? series : quotient;
}

inline double logistic(double x) { return 1.0 / (1.0 + exponential(-x)); }

// The halves of the error function: x * Phi(x) for gelu.
inline double normal_distribution(double x) {
  return 0.5 * __builtin_erfc(-x * 0.70710678118654752440);
}

}  // namespace ttl_host
