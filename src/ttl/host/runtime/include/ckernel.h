// ckernel.h: accesses to L1 that have happened when the call returns. Here all have, at once.
#pragma once

#include <cstdint>

namespace ckernel {

template <typename T>
inline T load_blocking(volatile T* ptr) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4, "operand must be 16-bit or 32-bit");
  return *ptr;
}

template <typename T, typename U>
inline void store_blocking(volatile T* ptr, U&& val) {
  static_assert(sizeof(T) == 4, "operand must be 32-bit");
  *ptr = val;
}

}  // namespace ckernel
