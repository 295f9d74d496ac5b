#include "tile_math.h"

#include "formats.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ttl_host {

namespace portable {
#include "tile_loops.h"
}

#if defined(__x86_64__)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2")
#endif

namespace avx2 {
#include "tile_loops.h"
}

#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif

namespace {

// By hand: the compiler's own dispatch needs a support library that is not always linked.
bool has_avx2() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return false;
  const unsigned saves_registers = 1u << 27, has_avx = 1u << 28;
  if ((c & saves_registers) == 0 || (c & has_avx) == 0) return false;
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  const unsigned system_saves_ymm = 6;
  if ((low & system_saves_ymm) != system_saves_ymm) return false;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & (1u << 5)) != 0;
}

const TileMath* const chosen = has_avx2() ? &avx2::table : &portable::table;

}  // namespace

const TileMath& tile_math() { return *chosen; }

#else

const TileMath& tile_math() { return portable::table; }

#endif

}  // namespace ttl_host

// For tests, which compare the variants.
extern "C" {
const void* ttl_portable_tile_math() {
  return &ttl_host::portable::table;
}
const void* ttl_chosen_tile_math() {
  return &ttl_host::tile_math();
}
}
