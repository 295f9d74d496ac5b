#include "tile_math.h"

#include "formats.h"
#include "functions.h"
#include "rounding.h"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace ttl_host {

namespace portable {
constexpr uint32_t matmul_rows = 1;
#include "tile_loops.h"
}

#if defined(__x86_64__)

#if defined(__clang__)
#define TTL_BEGIN_TARGET(name) \
  TTL_PRAGMA(clang attribute push(__attribute__((target(name))), apply_to = function))
#define TTL_END_TARGET TTL_PRAGMA(clang attribute pop)
#else
#define TTL_BEGIN_TARGET(name) TTL_PRAGMA(GCC push_options) TTL_PRAGMA(GCC target(name))
#define TTL_END_TARGET TTL_PRAGMA(GCC pop_options)
#endif
#define TTL_PRAGMA(text) _Pragma(#text)

TTL_BEGIN_TARGET("avx2")
namespace avx2 {
constexpr uint32_t matmul_rows = 2;
#include "tile_loops.h"
}
TTL_END_TARGET

TTL_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
namespace avx512 {
constexpr uint32_t matmul_rows = 8;
#include "tile_loops.h"
}
TTL_END_TARGET

namespace {

struct Processor {
  bool has_avx2, has_avx512;
};

// By hand: the compiler's own dispatch needs a support library that is not always linked.
Processor look_up_processor() {
  unsigned a, b, c, d;
  if (!__get_cpuid(1, &a, &b, &c, &d)) return {};
  const unsigned saves_registers = 1u << 27, has_avx = 1u << 28;
  if ((c & saves_registers) == 0 || (c & has_avx) == 0) return {};
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return {};
  const unsigned saves_ymm = 0x06, saves_zmm = 0xe6;  // the system, when it changes threads
  const unsigned avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;  // F DQ BW VL
  return {(low & saves_ymm) == saves_ymm && (b & avx2) != 0,
          (low & saves_zmm) == saves_zmm && (b & avx512) == avx512};
}

const TileMath* choose() {
  const Processor processor = look_up_processor();
  if (processor.has_avx512) return &avx512::table;
  return processor.has_avx2 ? &avx2::table : &portable::table;
}

const TileMath* const chosen = choose();

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
const void* ttl_avx2_tile_math() {
#if defined(__x86_64__)
  if (ttl_host::look_up_processor().has_avx2) return &ttl_host::avx2::table;
#endif
  return &ttl_host::portable::table;
}
}
