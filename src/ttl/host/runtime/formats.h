// How the numbers of a tile lie in L1. A new format is one row of `tile_formats` in formats.cpp.
#pragma once

#include <cstdint>

namespace ttl_host {

constexpr uint32_t tile_values = 1024;
constexpr uint32_t face_values = 256;

// Integers are kept in DST as their bits, 16-bit ones in the lower half of a word; only from a DST of
// 32 bits the packer takes these from the upper half.
struct TileFormat {
  const char* name;  // as in ttl.artifact.PAGE_BYTES
  uint32_t tile_bytes;
  bool is_integer;
  bool fits_16_bit_dst;  // every value of it is a bfloat16
  bool adds_integers;    // a source set up for it has the matrix unit add integers
  bool is_half_word;     // a 16-bit integer
  bool is_bfloat16;
  void (*unpack)(const uint8_t* tile, float* values);
  void (*pack)(const float* values, uint8_t* tile);
};

// Null for a format the runtime does not know.
const TileFormat* find_format(const char* name);

}  // namespace ttl_host
