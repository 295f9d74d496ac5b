#include "formats.h"

#include <cstring>

#include "rounding.h"
#include "tile_math.h"

namespace ttl_host {

namespace {

void unpack_bfloat16(const uint8_t* tile, float* values) {
  tile_math().unpack_bfloat16(reinterpret_cast<const uint16_t*>(tile), values);
}

void pack_bfloat16(const float* values, uint8_t* tile) {
  tile_math().pack_bfloat16(values, reinterpret_cast<uint16_t*>(tile));
}

void unpack_words(const uint8_t* tile, float* values) { memcpy(values, tile, 4096); }
void pack_words(const float* values, uint8_t* tile) { memcpy(tile, values, 4096); }

template <typename Integer>
void unpack_integers(const uint8_t* tile, float* values) {
  const Integer* integers = reinterpret_cast<const Integer*>(tile);
  for (uint32_t i = 0; i < tile_values; ++i) values[i] = float_of(integers[i]);
}

template <typename Integer>
void pack_integers(const float* values, uint8_t* tile) {
  Integer* integers = reinterpret_cast<Integer*>(tile);
  for (uint32_t i = 0; i < tile_values; ++i) integers[i] = static_cast<Integer>(bits_of(values[i]));
}

// The exponent of a half has a bias of 15, that of a float one of 127.
void unpack_float16(const uint8_t* tile, float* values) {
  const uint16_t* halves = reinterpret_cast<const uint16_t*>(tile);
  for (uint32_t i = 0; i < tile_values; ++i) {
    const uint32_t sign = (halves[i] & 0x8000u) << 16, magnitude = (halves[i] & 0x7fffu) << 13;
    const bool is_finite = magnitude < 0x0f800000u;
    // As a float the magnitude is 2^112 too small, subnormal ones too.
    const uint32_t bits = is_finite ? bits_of(float_of(magnitude) * 0x1p112f)
                                    : 0x7f800000u | (magnitude & 0x007fffffu);
    values[i] = float_of(sign | bits);
  }
}

uint16_t half_of(float value) {
  const uint32_t bits = bits_of(value), sign = bits >> 16 & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);  // rounds too far
  if (magnitude < 0x38800000u)  // subnormal: the sum has the steps of a half as its last places
    return static_cast<uint16_t>(sign | (bits_of(float_of(magnitude) + 0.5f) - 0x3f000000u));
  const uint32_t even = magnitude >> 13 & 1u;
  return static_cast<uint16_t>(sign | ((magnitude - 0x38000000u + 0xfffu + even) >> 13));
}

void pack_float16(const float* values, uint8_t* tile) {
  uint16_t* halves = reinterpret_cast<uint16_t*>(tile);
  for (uint32_t i = 0; i < tile_values; ++i) halves[i] = half_of(values[i]);
}

// Block floats: 16 values of a face row share an exponent; all exponents stand before the
// mantissas. The rules, by letter, are those of ttl.semantics.block_float.
constexpr uint32_t group_values = 16, groups = tile_values / group_values;

float step_of(int shared_exponent, int mantissa_bits) {
  return static_cast<float>(__builtin_ldexp(1.0, shared_exponent - 127 - (mantissa_bits - 1)));
}

int shared_exponent(const float* group) {
  uint32_t largest = 0;
  for (uint32_t i = 0; i < group_values; ++i) {
    const uint32_t exponent = bits_of(group[i]) >> 23 & 255;
    if (exponent > largest) largest = exponent;  // rule A
  }
  return static_cast<int>(largest);
}

uint8_t encoded(float value, int exponent, int mantissa_bits) {
  const uint32_t top = 1u << (mantissa_bits - 1), most = (1u << mantissa_bits) - 1;
  const uint32_t magnitude_bits = bits_of(value) & 0x7fffffffu;
  const uint32_t sign = bits_of(value) >> 31 << mantissa_bits;
  if (magnitude_bits > 0x7f800000u) return static_cast<uint8_t>(sign | top | top >> 1);  // rule E
  if (magnitude_bits == 0x7f800000u) return static_cast<uint8_t>(sign | top);
  if (exponent == 0) return 0;  // rule D
  const double steps = __builtin_floor(0.5 +  // ties away from zero, as the packer has them
      __builtin_ldexp(double{float_of(magnitude_bits)}, 127 + (mantissa_bits - 1) - exponent));
  const uint32_t mantissa = steps > most ? most : static_cast<uint32_t>(steps);  // rule C
  return static_cast<uint8_t>(mantissa ? sign | mantissa : 0);
}

float decoded(uint8_t code, int exponent, int mantissa_bits) {
  const uint32_t top = 1u << (mantissa_bits - 1), mask = (1u << mantissa_bits) - 1;
  const uint32_t mantissa = code & mask;
  const float magnitude = exponent == 255 && mantissa > top
                              ? __builtin_nanf("")  // rule E
                              : static_cast<float>(mantissa) * step_of(exponent, mantissa_bits);
  return code > mask ? -magnitude : magnitude;
}

// Of 3 mantissa bits two values share a byte, the first in its lower half.
template <int mantissa_bits>
void unpack_block_float(const uint8_t* tile, float* values) {
  for (uint32_t i = 0; i < tile_values; ++i) {
    const uint8_t pair = tile[groups + i / 2];
    const uint8_t code = mantissa_bits == 7 ? tile[groups + i] : i % 2 ? pair >> 4 : pair & 15;
    values[i] = decoded(code, tile[i / group_values], mantissa_bits);
  }
}

template <int mantissa_bits>
void pack_block_float(const float* values, uint8_t* tile) {
  for (uint32_t i = 0; i < tile_values; ++i) {
    const uint32_t group = i / group_values;
    const int exponent = i % group_values ? tile[group] : shared_exponent(values + i);
    tile[group] = static_cast<uint8_t>(exponent);
    const uint8_t code = encoded(values[i], exponent, mantissa_bits);
    if (mantissa_bits == 7) tile[groups + i] = code;
    else tile[groups + i / 2] = i % 2 ? tile[groups + i / 2] | code << 4 : code;
  }
}

const TileFormat tile_formats[] = {
    {"BFloat16", 2048, false, true, false, false, true, unpack_bfloat16, pack_bfloat16},
    {"Float32", 4096, false, false, false, false, false, unpack_words, pack_words},
    {"BFP_BFloat8", 1088, false, true, false, false, false, unpack_block_float<7>, pack_block_float<7>},
    {"BFP_BFloat4", 576, false, true, false, false, false, unpack_block_float<3>, pack_block_float<3>},
    {"Int32", 4096, true, false, true, false, false, unpack_words, pack_words},
    {"UInt32", 4096, true, false, false, false, false, unpack_words, pack_words},
    {"UInt16", 2048, true, true, false, true, false, unpack_integers<uint16_t>, pack_integers<uint16_t>},
    {"UInt8", 1024, true, true, true, false, false, unpack_integers<uint8_t>, pack_integers<uint8_t>},
    {"Float16", 2048, false, false, false, false, false, unpack_float16, pack_float16},
};

}  // namespace

const TileFormat* find_format(const char* name) {
  for (const TileFormat& format : tile_formats)
    if (strcmp(format.name, name) == 0) return &format;
  return nullptr;
}

}  // namespace ttl_host
