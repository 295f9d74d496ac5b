// Included by tile_math.cpp inside the namespace of an instruction set, as tile_loops.h is: tiles of
// bfloat16, as compilers vectorize them best.

static void unpack_bfloat16(const uint16_t* tile, float* values) {
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = float_of(uint32_t{tile[i]} << 16);
}

static void pack_bfloat16(const float* values, uint16_t* tile) {
  for (uint32_t i = 0; i < tile_values; ++i)
    tile[i] = static_cast<uint16_t>(nearest_bits(bits_of(values[i])) >> 16);
}

static void add_bfloat16(const uint16_t* a, const uint16_t* b, float* out) {
  for (uint32_t i = 0; i < tile_values; ++i)
    out[i] = computed(float_of(uint32_t{a[i]} << 16) + float_of(uint32_t{b[i]} << 16)) + 0.0f;
}

static void subtract_bfloat16(const uint16_t* a, const uint16_t* b, float* out) {
  for (uint32_t i = 0; i < tile_values; ++i)
    out[i] = computed(float_of(uint32_t{a[i]} << 16) - float_of(uint32_t{b[i]} << 16)) + 0.0f;
}
