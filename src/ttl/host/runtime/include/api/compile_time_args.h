// api/compile_time_args.h. Several kernels share a translation unit, so what depends on a kernel's
// arguments is defined in the kernel's own namespace, by TTL_KERNEL_SCOPE.
#pragma once

#include <cstddef>
#include <cstdint>

#define get_compile_time_arg_val(arg_idx) get_ct_arg<arg_idx>()

#define TTL_KERNEL_SCOPE(count, ...)                                    \
  struct KernelArguments {                                              \
    static constexpr uint32_t size = count;                             \
    static constexpr uint32_t values[count + 1] = {__VA_ARGS__};        \
  };                                                                    \
  template <uint32_t Idx>                                               \
  constexpr uint32_t get_ct_arg() {                                     \
    static_assert(Idx < KernelArguments::size, "Index out of range");   \
    return KernelArguments::values[Idx];                                \
  }
