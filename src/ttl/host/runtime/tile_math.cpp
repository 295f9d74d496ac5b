#include "tile_math.h"

#include <cstring>

#include "formats.h"
#include "functions.h"
#include "rounding.h"

#if defined(__x86_64__)
#include <cpuid.h>
#include <immintrin.h>
#endif

namespace ttl_host {

#define TTL_VALUES(count) \
  typedef float Values __attribute__((vector_size(4 * (count)), aligned(4), may_alias)); \
  typedef int32_t Mask __attribute__((vector_size(4 * (count)))); \
  constexpr uint32_t vector_values = count

namespace portable {
TTL_VALUES(4);
constexpr uint32_t matmul_rows = 1, matmul_faces = 2;
static inline Values multiply_add(float a, Values b, Values sum) {
  Values result;
  for (uint32_t i = 0; i < vector_values; ++i) result[i] = __builtin_fmaf(a, b[i], sum[i]);
  return result;
}
#include "bfloat16_loops.h"
#include "row_loops.h"
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

TTL_BEGIN_TARGET("avx2,fma")
namespace avx2 {
TTL_VALUES(8);
constexpr uint32_t matmul_rows = 4, matmul_faces = 1;
static inline Values multiply_add(float a, Values b, Values sum) {
  return _mm256_fmadd_ps(_mm256_set1_ps(a), b, sum);
}
#include "bfloat16_avx2.h"
#include "row_loops.h"
#include "tile_loops.h"
}
TTL_END_TARGET

TTL_BEGIN_TARGET("avx512f,avx512bw,avx512dq,avx512vl,prefer-vector-width=512")
namespace avx512 {
TTL_VALUES(16);
constexpr uint32_t matmul_rows = 8, matmul_faces = 2;
static inline Values multiply_add(float a, Values b, Values sum) {
  return _mm512_fmadd_ps(_mm512_set1_ps(a), b, sum);
}
#include "bfloat16_loops.h"
#include "row_loops.h"
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
  const unsigned has_fma = 1u << 12, saves_registers = 1u << 27, has_avx = 1u << 28;
  const unsigned needed = has_fma | saves_registers | has_avx;
  if ((c & needed) != needed) return {};
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
