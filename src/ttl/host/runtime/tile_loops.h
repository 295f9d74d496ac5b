// Included by tile_math.cpp once for each instruction set, inside a namespace of its own.
// No pragma once: that is the point.

template <typename Round, typename Function>
static inline void map_rounded(const float* a, const float* b, float* out, Function function) {
  for (uint32_t i = 0; i < tile_values; ++i) out[i] = Round::apply(function(a[i], b[i], out[i]));
}

template <typename Function>
static inline void map(
    const float* a, const float* b, float* out, Rounding rounding, Function function) {
  if (rounding == Rounding::None) return map_rounded<Exact>(a, b, out, function);
  if (rounding == Rounding::NearestEven) return map_rounded<ToNearestEven>(a, b, out, function);
  if (rounding == Rounding::Tf32) return map_rounded<ToTf32>(a, b, out, function);
  if (rounding == Rounding::NearestAway) return map_rounded<ToNearestAway>(a, b, out, function);
  map_rounded<TowardZero>(a, b, out, function);
}

static void plus_zero(float* values) {
  for (uint32_t i = 0; i < tile_values; ++i) values[i] += 0.0f;
}

static void copy(const float* values, float* out, Rounding rounding) {
  map(values, values, out, rounding, [](float a, float, float) { return a; });
}

static void add(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return computed(x + y); });
}

static void subtract(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return computed(x - y); });
}

static void multiply(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) { return computed(x * y); });
}

static void multiply_zero_wins(const float* a, const float* b, float* out, Rounding rounding) {
  map(a, b, out, rounding, [](float x, float y, float) {
    float product = x * y + 0.0f;
    return ((x == 0.0f) | (y == 0.0f)) ? 0.0f : computed(product);
  });
}

// 0 + -0 would lose the sign of a product that is minus zero.
static void multiply_accumulate(const float* a, const float* b, float* out, Rounding rounding) {
  if (rounding != Rounding::None)
    return map(a, b, out, rounding, [](float x, float y, float sum) {
      float product = x * y;
      return computed(sum + (((x == 0.0f) | (y == 0.0f)) ? 0.0f : product));
    });
  map(a, b, out, rounding, [](float x, float y, float sum) {
    float product = x * y;
    return computed(sum == 0.0f ? product : sum + product);
  });
}

// Where a vector of `matmul_rows` rows and `matmul_faces` faces lies.
static constexpr uint32_t vectors_in_face = 16 / vector_values;
static inline uint32_t place_of_vector(uint32_t row, uint32_t i) {
  return row * 16 + i / vectors_in_face * face_values + i % vectors_in_face * vector_values;
}

template <typename Round>
static inline Values rounded(Values values) {
  for (uint32_t i = 0; i < vector_values; ++i) values[i] = Round::apply(values[i]);
  return values;
}

// Several rows of the result at a time: the sums of one row would wait for each other. Each sum goes
// over k in order, so that the bits do not depend on how many rows there are. Product and sum have one
// rounding everywhere: factors have at most 11 digits, so their product needs none of its own.
template <typename Round>
static inline void matmul_part(const float* a, const float* b, const float* before, float* out) {
  constexpr uint32_t vectors = matmul_faces * vectors_in_face;
  Values sums[matmul_rows][vectors];
  for (uint32_t row = 0; row < matmul_rows; ++row)
    for (uint32_t i = 0; i < vectors; ++i)
      sums[row][i] = *reinterpret_cast<const Values*>(before + place_of_vector(row, i));
  for (uint32_t half = 0; half < 2; ++half, a += face_values, b += 2 * face_values) {
    for (uint32_t k = 0; k < 16; ++k) {
      Values b_values[vectors];
      for (uint32_t i = 0; i < vectors; ++i)
        b_values[i] = *reinterpret_cast<const Values*>(b + place_of_vector(k, i));
      for (uint32_t row = 0; row < matmul_rows; ++row)
        for (uint32_t i = 0; i < vectors; ++i)
          sums[row][i] = multiply_add(a[row * 16 + k], b_values[i], sums[row][i]);
    }
  }
  for (uint32_t row = 0; row < matmul_rows; ++row)
    for (uint32_t i = 0; i < vectors; ++i)
      *reinterpret_cast<Values*>(out + place_of_vector(row, i)) = rounded<Round>(sums[row][i]);
}

template <typename Round>
static inline void matmul_rounded(const float* a, const float* b, const float* before, float* out) {
  for (uint32_t face = 0; face < 4; face += matmul_faces)
    for (uint32_t row = 0; row < 16; row += matmul_rows) {
      const uint32_t offset = face * face_values + row * 16;
      matmul_part<Round>(a + face / 2 * 2 * face_values + row * 16, b + face % 2 * face_values,
                         before + offset, out + offset);
    }
}

static void matmul(const float* a, const float* b, const float* before, float* out,
                   Rounding rounding) {
  if (rounding == Rounding::None) return matmul_rounded<Exact>(a, b, before, out);
  if (rounding == Rounding::NearestEven) return matmul_rounded<ToNearestEven>(a, b, before, out);
  matmul_rounded<Exact>(a, b, before, out);
  copy(out, out, rounding);
}

static void settle_nans(float* values) {
  Mask is_nan{};
  for (uint32_t i = 0; i < tile_values; i += vector_values) {
    const Values some = *reinterpret_cast<const Values*>(values + i);
    is_nan |= some != some;
  }
  int32_t any = 0;
  for (uint32_t i = 0; i < vector_values; ++i) any |= is_nan[i];
  for (uint32_t i = 0; any && i < tile_values; ++i) values[i] = computed(values[i]);
}

template <typename Round>
static inline void exponential_rounded(float* values, uint32_t count, float scale) {
  for (uint32_t i = 0; i < count; ++i)
    values[i] = Round::apply(computed(flushed(ttl_host::exponential(double{values[i] * scale}))));
}

static void exponential(float* values, uint32_t count, float scale, Rounding rounding) {
  if (rounding == Rounding::None) return exponential_rounded<Exact>(values, count, scale);
  exponential_rounded<ToNearestEven>(values, count, scale);
}

static const TileMath table = {
    unpack_bfloat16,    pack_bfloat16,       copy,
    add,                subtract,            multiply,
    multiply_zero_wins, multiply_accumulate, matmul,
    exponential,        plus_zero,           add_bfloat16,
    subtract_bfloat16,  rows_to_pages,       page_to_rows,
    settle_nans,
};
