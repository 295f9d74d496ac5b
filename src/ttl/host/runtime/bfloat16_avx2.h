// bfloat16_loops.h for AVX2, where compilers widen and narrow with twice the instructions. 16 numbers
// at a time: the instructions that interleave and pack do so in each half of a register.

struct Widened {
  Values low, high;
};

static inline Widened widened(const uint16_t* tile) {
  const __m256i loaded = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(tile));
  const __m256i halves = _mm256_permute4x64_epi64(loaded, 0xd8), zero = _mm256_setzero_si256();
  return {_mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, halves)),
          _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, halves))};
}

static inline void store(float* out, Values values) {
  _mm256_storeu_ps(out, values);
}

static void unpack_bfloat16(const uint16_t* tile, float* values) {
  for (uint32_t i = 0; i < tile_values; i += 16) {
    const Widened both = widened(tile + i);
    store(values + i, both.low);
    store(values + i + 8, both.high);
  }
}

static void pack_with_nan(const float* values, uint16_t* tile) {
  for (uint32_t i = 0; i < tile_values; ++i)
    tile[i] = static_cast<uint16_t>(nearest_bits(bits_of(values[i])) >> 16);
}

// nearest_bits() of what is no NaN, in the lower half of each word.
static inline __m256i nearest(__m256 values) {
  const __m256i bits = _mm256_castps_si256(values), upper = _mm256_srli_epi32(bits, 16);
  const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
  const __m256i sum = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd);
  return _mm256_srli_epi32(sum, 16);
}

static void pack_bfloat16(const float* values, uint16_t* tile) {
  __m256 is_nan = _mm256_setzero_ps();
  for (uint32_t i = 0; i < tile_values; i += 16) {
    const __m256 low = _mm256_loadu_ps(values + i), high = _mm256_loadu_ps(values + i + 8);
    is_nan = _mm256_or_ps(is_nan, _mm256_cmp_ps(low, high, _CMP_UNORD_Q));
    const __m256i packed = _mm256_packus_epi32(nearest(low), nearest(high));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(tile + i),
                        _mm256_permute4x64_epi64(packed, 0xd8));
  }
  if (_mm256_movemask_ps(is_nan)) pack_with_nan(values, tile);
}

// computed(), and no -0.
static inline Values result(Values sum) {
  return sum == sum ? sum + Values{} : Values{} + __builtin_nanf("");
}

static void add_bfloat16(const uint16_t* a, const uint16_t* b, float* out) {
  for (uint32_t i = 0; i < tile_values; i += 16) {
    const Widened left = widened(a + i), right = widened(b + i);
    store(out + i, result(left.low + right.low));
    store(out + i + 8, result(left.high + right.high));
  }
}

static void subtract_bfloat16(const uint16_t* a, const uint16_t* b, float* out) {
  for (uint32_t i = 0; i < tile_values; i += 16) {
    const Widened left = widened(a + i), right = widened(b + i);
    store(out + i, result(left.low - right.low));
    store(out + i + 8, result(left.high - right.high));
  }
}
