// api/numeric/bfloat16.h: bfloat16 as the upper half of a float's bits.
#pragma once

#include <cstdint>
#include <cstring>

inline constexpr uint16_t NEG_INF_BFLOAT16 = 0xFF80;
inline constexpr uint16_t POS_INF_BFLOAT16 = 0x7F80;
inline constexpr uint16_t NAN_BFLOAT16 = 0x7FFF;
inline constexpr uint16_t BFLOAT16_SIGN_MASK = 0x8000;
inline constexpr uint16_t BFLOAT16_EXPONENT_MASK = 0x7F80;
inline constexpr uint16_t BFLOAT16_MANTISSA_MASK = 0x007F;
inline constexpr uint16_t BFLOAT16_MAGNITUDE_MASK = 0x7FFF;

namespace ttl_dataflow {
namespace numbers {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof(bits));
  return bits;
}

}  // namespace numbers
}  // namespace ttl_dataflow

inline float bf16_to_fp32(std::uint16_t bf16) {
  const uint32_t bits = static_cast<uint32_t>(bf16) << 16;
  float value;
  memcpy(&value, &bits, sizeof(value));
  return value;
}

// To the nearest, ties to even; a NaN may become an infinity or a zero, as on the chip.
inline std::uint16_t fp32_to_bf16(float x) {
  const uint32_t bits = ttl_dataflow::numbers::bits_of(x);
  return static_cast<uint16_t>((bits + 0x7FFFu + (bits >> 16 & 1u)) >> 16);
}

inline std::uint16_t fp32_to_bf16_truncate(float x) {
  return static_cast<uint16_t>(ttl_dataflow::numbers::bits_of(x) >> 16);
}

struct FloatBits {
  std::uint16_t high16, low16;
  explicit FloatBits(float value)
      : high16(fp32_to_bf16_truncate(value)),
        low16(static_cast<uint16_t>(ttl_dataflow::numbers::bits_of(value) & 0xFFFFu)) {}
};

// By sign and magnitude: a zero is greater than a negative zero.
inline bool bfloat16_greater(uint16_t bf16_a, uint16_t bf16_b) {
  const bool is_negative = (bf16_a & BFLOAT16_SIGN_MASK) != 0;
  if ((bf16_a ^ bf16_b) & BFLOAT16_SIGN_MASK) return !is_negative;
  return is_negative ? bf16_a < bf16_b : bf16_a > bf16_b;
}
