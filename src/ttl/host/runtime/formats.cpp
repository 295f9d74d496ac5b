#include "formats.h"

#include <cstring>

#include "tile_math.h"

namespace ttl_host {

namespace {

void unpack_bfloat16(const uint8_t* tile, float* values) {
  tile_math().unpack_bfloat16(reinterpret_cast<const uint16_t*>(tile), values);
}

void pack_bfloat16(const float* values, uint8_t* tile) {
  tile_math().pack_bfloat16(values, reinterpret_cast<uint16_t*>(tile));
}

void unpack_float32(const uint8_t* tile, float* values) { memcpy(values, tile, 4096); }
void pack_float32(const float* values, uint8_t* tile) { memcpy(tile, values, 4096); }

const TileFormat tile_formats[] = {
    {"BFloat16", 2048, unpack_bfloat16, pack_bfloat16},
    {"Float32", 4096, unpack_float32, pack_float32},
};

}  // namespace

const TileFormat* find_format(const char* name) {
  for (const TileFormat& format : tile_formats)
    if (strcmp(format.name, name) == 0) return &format;
  return nullptr;
}

}  // namespace ttl_host
