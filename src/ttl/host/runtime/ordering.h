// Numbers as SFPSWAP and the maximum of the matrix unit order them, by sign and magnitude: -0 is less
// than +0, and a NaN is beyond the infinity of its sign.
#pragma once

#include "rounding.h"

namespace ttl_host {

inline int32_t order(float value) {
  const int32_t bits = static_cast<int32_t>(bits_of(value));
  return bits < 0 ? bits ^ 0x7fffffff : bits;
}

inline float larger(float a, float b) { return order(a) > order(b) ? a : b; }
inline float smaller(float a, float b) { return order(a) < order(b) ? a : b; }

}  // namespace ttl_host
