// What happens to a float32 on its way into a 16-bit place.
#pragma once

#include <cstdint>

namespace ttl_host {

inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

// What is computed and is NaN has no sign, whatever the processor gives it; what is moved or chosen
// keeps its own. (On the chip it may have either: ISA documentation, SFPMAD.md.)
inline float computed(float value) { return value == value ? value : __builtin_nanf(""); }

// To the nearest bfloat16, ties to even or away from zero. A NaN stays one: the addition must not carry
// out of it.
inline uint32_t nearest_bits(uint32_t bits, bool away = false) {
  uint32_t rounded = bits + (away ? 0x8000u : 0x7fffu + ((bits >> 16) & 1u));
  uint32_t quiet = bits | 0x00400000u;
  return ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) & 0xffff0000u;
}

struct Exact {
  static inline float apply(float value) { return value; }
};
struct ToNearestEven {
  static inline float apply(float value) { return float_of(nearest_bits(bits_of(value))); }
};
struct ToNearestAway {
  static inline float apply(float value) { return float_of(nearest_bits(bits_of(value), true)); }
};
// What a source of the matrix unit keeps of a float32: 10 digits of the mantissa, the rest cut off.
struct ToTf32 {
  static inline float apply(float value) { return float_of(bits_of(value) & 0xffffe000u); }
};
struct TowardZero {
  static inline float apply(float value) { return float_of(bits_of(value) & 0xffff0000u); }
};

}  // namespace ttl_host
