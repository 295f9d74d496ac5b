// Included by tile_math.cpp once for each instruction set, inside a namespace of its own.
// No pragma once: that is the point.

static inline uint32_t bits_of(float value) {
  uint32_t bits;
  __builtin_memcpy(&bits, &value, 4);
  return bits;
}

static inline float float_of(uint32_t bits) {
  float value;
  __builtin_memcpy(&value, &bits, 4);
  return value;
}

// To the nearest bfloat16, ties to even. A NaN stays one: the addition must not carry out of it.
static inline uint32_t nearest_bits(uint32_t bits) {
  uint32_t rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
  uint32_t quiet = bits | 0x00400000u;
  return ((bits & 0x7fffffffu) > 0x7f800000u ? quiet : rounded) & 0xffff0000u;
}

struct Exact {
  static inline float apply(float value) { return value; }
};
struct ToNearestEven {
  static inline float apply(float value) { return float_of(nearest_bits(bits_of(value))); }
};
struct TowardZero {
  static inline float apply(float value) { return float_of(bits_of(value) & 0xffff0000u); }
};

template <typename Round, typename Function>
static inline void map_rounded(const float* a, const float* b, float* out, Function function) {
  for (uint32_t i = 0; i < tile_values; ++i) out[i] = Round::apply(function(a[i], b[i], out[i]));
}

template <typename Function>
static inline void map(
    const float* a, const float* b, float* out, Rounding rounding, Function function) {
  if (rounding == Rounding::None) return map_rounded<Exact>(a, b, out, function);
  if (rounding == Rounding::NearestEven) return map_rounded<ToNearestEven>(a, b, out, function);
  map_rounded<TowardZero>(a, b, out, function);
}

static void unpack_bfloat16(const uint16_t* tile, float* values) {
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = float_of(uint32_t{tile[i]} << 16);
}

static void pack_bfloat16(const float* values, uint16_t* tile) {
  for (uint32_t i = 0; i < tile_values; ++i)
    tile[i] = static_cast<uint16_t>(nearest_bits(bits_of(values[i])) >> 16);
}

static void copy(const float* values, float* out, Rounding rounding) {
  map(values, values, out, rounding, [](float a, float, float) { return a; });
}

static void add(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return x + y; });
}

static void subtract(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return x - y; });
}

static void multiply(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return x * y; });
}

static void multiply_zero_wins(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) {
    float product = x * y;
    return ((x == 0.0f) | (y == 0.0f)) ? 0.0f : product;
  });
}

// 0 + -0 would lose the sign of a product that is minus zero.
static void multiply_accumulate(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float sum) {
    float product = x * y;
    return sum == 0.0f ? product : sum + product;
  });
}

// One row of the result: `left` and `right` are its halves, 16 columns of two faces.
static inline void matmul_row(
    const float* a_left, const float* a_right, const float* b, float* left, float* right) {
  float sum_left[16], sum_right[16];
  for (uint32_t j = 0; j < 16; ++j) sum_left[j] = left[j];
  for (uint32_t j = 0; j < 16; ++j) sum_right[j] = right[j];
  for (uint32_t k = 0; k < 32; ++k) {
    const float factor = k < 16 ? a_left[k] : a_right[k - 16];
    const float* b_left = b + (k < 16 ? 0 : 2 * face_values) + (k % 16) * 16;
    const float* b_right = b_left + face_values;
    for (uint32_t j = 0; j < 16; ++j) sum_left[j] += factor * b_left[j];
    for (uint32_t j = 0; j < 16; ++j) sum_right[j] += factor * b_right[j];
  }
  for (uint32_t j = 0; j < 16; ++j) left[j] = sum_left[j];
  for (uint32_t j = 0; j < 16; ++j) right[j] = sum_right[j];
}

static void matmul_accumulate(const float* a, const float* b, float* out, Rounding rounding) {
  for (uint32_t row = 0; row < 32; ++row) {
    const uint32_t offset = (row / 16) * 2 * face_values + (row % 16) * 16;
    matmul_row(a + offset, a + offset + face_values, b, out + offset, out + offset + face_values);
  }
  if (rounding != Rounding::None) copy(out, out, rounding);
}

// exp in double precision, error below 1e-15, so that one rounding to float32 is left. Our own,
// not libm's: the same bits on every machine. Below the least normal number the chip gives 0.
static inline float exponential_of(float value) {
  const double x = value < -110.0f ? -110.0 : value > 90.0f ? 90.0 : double{value};
  const double shifter = 6755399441055744.0;  // 1.5 * 2^52: adding it rounds to an integer
  const double shifted = x * 1.4426950408889634 + shifter;
  const double n = shifted - shifter;
  const double r = (x - n * 6.93147180369123816490e-01) - n * 1.90821492927058770002e-10;
  double p = 1.0 / 6227020800.0;
  p = p * r + 1.0 / 479001600.0;
  p = p * r + 1.0 / 39916800.0;
  p = p * r + 1.0 / 3628800.0;
  p = p * r + 1.0 / 362880.0;
  p = p * r + 1.0 / 40320.0;
  p = p * r + 1.0 / 5040.0;
  p = p * r + 1.0 / 720.0;
  p = p * r + 1.0 / 120.0;
  p = p * r + 1.0 / 24.0;
  p = p * r + 1.0 / 6.0;
  p = p * r + 0.5;
  p = p * r + 1.0;
  p = p * r + 1.0;
  uint64_t bits;
  __builtin_memcpy(&bits, &shifted, 8);
  bits = (bits + 1023) << 52;  // 2^n: the integer stands in the low bits of `shifted`
  double power;
  __builtin_memcpy(&power, &bits, 8);
  const float result = static_cast<float>(p * power);
  return result < 1.17549435e-38f ? 0.0f : result;
}

template <typename Round>
static inline void exponential_rounded(float* values, uint32_t count, float scale) {
  for (uint32_t i = 0; i < count; ++i)
    values[i] = Round::apply(exponential_of(values[i] * scale));
}

static void exponential(float* values, uint32_t count, float scale, Rounding rounding) {
  if (rounding == Rounding::None) return exponential_rounded<Exact>(values, count, scale);
  exponential_rounded<ToNearestEven>(values, count, scale);
}

// Ordered as sign and magnitude, as SFPSWAP does: -0 < +0, and a NaN by its sign.
static void maximum(float* values, uint32_t count, float threshold, Rounding rounding) {
  const uint32_t mask = rounding == Rounding::Truncate ? 0xffff0000u : 0xffffffffu;
  const int32_t limit = static_cast<int32_t>(bits_of(threshold));
  const int32_t limit_key = limit < 0 ? limit ^ 0x7fffffff : limit;
  for (uint32_t i = 0; i < count; ++i) {
    const int32_t bits = static_cast<int32_t>(bits_of(values[i]));
    const int32_t key = bits < 0 ? bits ^ 0x7fffffff : bits;
    values[i] = float_of(static_cast<uint32_t>(key > limit_key ? bits : limit) & mask);
  }
}

static const TileMath table = {
    unpack_bfloat16,    pack_bfloat16,       copy,
    add,                subtract,            multiply,
    multiply_zero_wins, multiply_accumulate, matmul_accumulate,
    exponential,        maximum,
};
