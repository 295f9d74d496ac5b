// What compute and data movement kernels call alike: arguments, position, circular buffers. The
// headers of both take the names into the namespaces that their kernels use.
#pragma once

#include <cstdint>

#include "hostdevcommon/recorded_calls.h"

namespace ttl_kernel {

uint32_t argument(int index, int line);
uint32_t common_argument(int index, int line);

template <typename T>
inline __attribute__((always_inline)) T value_of(uint32_t word) {
  static_assert(sizeof(T) == 4, "only 4 byte arguments are supported");
  T value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

template <typename T>
inline __attribute__((always_inline)) T get_arg_val(int arg_idx, int line = __builtin_LINE()) {
  return value_of<T>(argument(arg_idx, line));
}

template <typename T>
inline __attribute__((always_inline)) T
get_common_arg_val(int arg_idx, int line = __builtin_LINE()) {
  return value_of<T>(common_argument(arg_idx, line));
}

uint8_t get_absolute_logical_x();
uint8_t get_absolute_logical_y();
// To the sub-device, which is the whole chip here.
uint8_t get_relative_logical_x();
uint8_t get_relative_logical_y();

namespace detail {
void cb_wait_front(uint32_t cb, uint32_t pages, int line);
void cb_pop_front(uint32_t cb, uint32_t pages, int line);
void cb_reserve_back(uint32_t cb, uint32_t pages, int line);
void cb_push_back(uint32_t cb, uint32_t pages, int line);
bool cb_pages_reservable_at_back(uint32_t cb, uint32_t pages, int line);
}  // namespace detail

#define TTL_AT_END(name)                                        \
  inline __attribute__((always_inline)) void name(              \
      uint32_t cb, uint32_t pages, int line = __builtin_LINE()) { \
    TTL_USES(line, cb, pages);                                  \
    detail::name(cb, pages, line);                              \
  }

TTL_AT_END(cb_wait_front)
TTL_AT_END(cb_pop_front)
TTL_AT_END(cb_reserve_back)
TTL_AT_END(cb_push_back)

// Polls: a kernel that asks in vain lets the others run.
bool cb_pages_available_at_front(uint32_t cb, uint32_t pages, int line = __builtin_LINE());
inline __attribute__((always_inline)) bool cb_pages_reservable_at_back(
    uint32_t cb, uint32_t pages, int line = __builtin_LINE()) {
  TTL_POLLS(line, cb, pages);
  return detail::cb_pages_reservable_at_back(cb, pages, line);
}

}  // namespace ttl_kernel
