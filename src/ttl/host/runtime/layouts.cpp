// Rows to tiles and back: calls that take DST and give it back themselves.
#include <cstring>

#include "buffers.h"
#include "matrix_unit.h"

#include "api/compute/pack_untilize.h"
#include "api/compute/tilize.h"

namespace ttl_host {

namespace {

uint32_t element_bytes(const TileFormat& format, int line) {
  if (format.tile_bytes % tile_values)
    fault(line, "the host runtime does not model rows of %s", format.name);
  return format.tile_bytes / tile_values;
}

void check_idle(const Compute& compute, const char* call, int line) {
  if (compute.state != DstState::Free) fault(line, "%s between tile_regs_acquire and release", call);
}

void begin(FpuKind kind, uint32_t buffer, uint32_t tiles, uint32_t row_tiles, int line) {
  Compute& compute = compute_of(self(line));
  begin_move({kind, 0}, buffer);
  compute.layout_tiles = tiles;
  compute.layout_row_tiles = row_tiles;
}

void check_begun(const Compute& compute, FpuKind kind, uint32_t tiles, uint32_t row_tiles,
                 const char* call, int line) {
  check_idle(compute, call, line);
  check_mode(compute, {kind, 0}, call, line);
  if (compute.layout_tiles != tiles || compute.layout_row_tiles != row_tiles)
    fault(line, "%s of %u of %u tiles, but its init was for %u of %u", call, tiles, row_tiles,
          compute.layout_tiles, compute.layout_row_tiles);
}

// Element `number` of a row of tiles, which lies row by row in the pages of the buffer.
template <typename Page>
auto element(Page page, uint32_t number, uint32_t bytes) {
  return page(number / tile_values) + number % tile_values * bytes;
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/tilize.h: tilize_init and tilize_uninit
void begin_tilize(uint32_t in, uint32_t tiles, int line) {
  begin(FpuKind::Tilize, in, tiles, tiles, line);
}
void end_tilize() { begin_mode({FpuKind::None, 0}); }

// api/compute/tilize.h: tilize_block
void tilize(uint32_t in_index, uint32_t tiles, uint32_t out_index, uint32_t in_tile,
            uint32_t out_tile, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  check_begun(compute, FpuKind::Tilize, tiles, tiles, "tilize_block", line);
  CircularBuffer& in = buffer_at(fiber, in_index, line);
  CircularBuffer& out = buffer_at(fiber, out_index, line);
  check_copied(fiber, in, line);
  check_packer(compute, out, line);
  const uint32_t bytes = element_bytes(*in.format, line);
  auto* tile = reinterpret_cast<uint8_t*>(compute.packed_values);
  const auto page = [&](uint32_t n) { return front_tile(fiber, in, in_tile + n, line); };
  for (uint32_t t = 0; t < tiles; ++t) {
    for (uint32_t row = 0; row < 32; ++row)
      for (uint32_t column = 0; column < 32; ++column)
        memcpy(tile + place_of(row, column) * bytes,
               element(page, (row * tiles + t) * 32 + column, bytes), bytes);
    unpack(fiber, in, tile, compute.slots[0]);
    round_moved(fiber, *in.format, compute.slots[0]);
    out.format->pack(compute.slots[0], reserved_tile(fiber, out, out_tile + t, line));
  }
}

// api/compute/pack_untilize.h: pack_untilize_init and pack_untilize_uninit
void begin_untilize(uint32_t in, uint32_t tiles, uint32_t row_tiles, int line) {
  const uint32_t most = dst_is_16_bit(self(line)) ? 8 : 4;
  if (tiles > most || row_tiles % tiles)
    fault(line, "pack_untilize of blocks of %u of %u tiles; DST has %u", tiles, row_tiles, most);
  begin(FpuKind::Untilize, in, tiles, row_tiles, line);
}
void end_untilize() { begin_mode({FpuKind::None, 0}); }

// api/compute/pack_untilize.h: pack_untilize_block, of one row of tiles
void untilize(uint32_t in_index, uint32_t out_index, uint32_t tiles, uint32_t row_tiles,
              uint32_t block, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  check_begun(compute, FpuKind::Untilize, tiles, row_tiles, "pack_untilize_block", line);
  CircularBuffer& in = buffer_at(fiber, in_index, line);
  CircularBuffer& out = buffer_at(fiber, out_index, line);
  check_copied(fiber, in, line);
  check_packer(compute, out, line);
  const uint32_t bytes = element_bytes(*out.format, line);
  auto* tile = reinterpret_cast<uint8_t*>(compute.packed_values);
  const auto page = [&](uint32_t n) { return reserved_tile(fiber, out, n, line); };
  for (uint32_t t = 0; t < tiles; ++t) {
    in.format->unpack(front_tile(fiber, in, t, line), compute.slots[t]);
    round_moved(fiber, *in.format, compute.slots[t]);
    out.format->pack(compute.slots[t], tile);
    for (uint32_t row = 0; row < 32; ++row)
      for (uint32_t column = 0; column < 32; ++column)
        memcpy(element(page, (row * row_tiles + block * tiles + t) * 32 + column, bytes),
               tile + place_of(row, column) * bytes, bytes);
  }
}

}  // namespace ckernel::detail
