// How the numbers of a tile lie in L1. A new format is one row of `tile_formats` in formats.cpp.
#pragma once

#include <cstdint>

namespace ttl_host {

constexpr uint32_t tile_values = 1024;
constexpr uint32_t face_values = 256;

struct TileFormat {
  const char* name;  // as in ttl.artifact.PAGE_BYTES
  uint32_t tile_bytes;
  void (*unpack)(const uint8_t* tile, float* values);
  void (*pack)(const float* values, uint8_t* tile);
};

// Null for a format the runtime does not know.
const TileFormat* find_format(const char* name);

}  // namespace ttl_host
