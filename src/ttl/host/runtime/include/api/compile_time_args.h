// api/compile_time_args.h. Several kernels share a translation unit, so what depends on a kernel's
// arguments is defined in the kernel's own namespace, by TTL_KERNEL_SCOPE.
#pragma once

#include <cstddef>
#include <cstdint>

#define get_compile_time_arg_val(arg_idx) get_ct_arg<arg_idx>()

// By name, where a kernel has such arguments: {"name", value} pairs.
#define get_named_compile_time_arg_val(name) ttl_named_argument(name)

struct TtlNamedArgument {
  const char* name;
  uint32_t value;
};

constexpr bool ttl_same_text(const char* a, const char* b) {
  while (*a && *a == *b) ++a, ++b;
  return *a == *b;
}

#define TTL_NAMED_ARGUMENTS(...)                                        \
  constexpr TtlNamedArgument ttl_named_arguments[] = {__VA_ARGS__};     \
  constexpr uint32_t ttl_named_argument(const char* name) {             \
    for (const TtlNamedArgument& argument : ttl_named_arguments)        \
      if (ttl_same_text(argument.name, name)) return argument.value;    \
    __builtin_trap(); /* not constant: an error where it is compiled */ \
  }

template <uint32_t count>
struct TtlWords {
  uint32_t words[count + 1];
  constexpr uint32_t size() const { return count; }
  constexpr uint32_t operator[](std::size_t index) const { return words[index]; }
};

#define TTL_KERNEL_SCOPE(count, ...)                                    \
  struct KernelArguments {                                              \
    static constexpr uint32_t size = count;                             \
    static constexpr uint32_t values[count + 1] = {__VA_ARGS__};        \
  };                                                                    \
  template <uint32_t Idx>                                               \
  constexpr uint32_t get_ct_arg() {                                     \
    static_assert(Idx < KernelArguments::size, "Index out of range");   \
    return KernelArguments::values[Idx];                                \
  }                                                                     \
  constexpr TtlWords<count> kernel_compile_time_args = {{__VA_ARGS__}};
