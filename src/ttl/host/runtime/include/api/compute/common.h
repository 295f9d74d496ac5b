#pragma once

#include "api/compute/cb_api.h"
#include "api/compute/common_globals.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reg_api.h"

namespace ckernel {

namespace detail {
uint32_t argument(int index, int line);
uint32_t common_argument(int index, int line);
}  // namespace detail

template <typename T>
ALWI T get_arg_val(int arg_idx, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4, "only 4 byte arguments are supported");
  uint32_t word = detail::argument(arg_idx, line);
  T value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

template <typename T>
ALWI T get_common_arg_val(int arg_idx, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4, "only 4 byte arguments are supported");
  uint32_t word = detail::common_argument(arg_idx, line);
  T value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

uint8_t get_absolute_logical_x();
uint8_t get_absolute_logical_y();
uint8_t get_relative_logical_x();
uint8_t get_relative_logical_y();

}  // namespace ckernel
