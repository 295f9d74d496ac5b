// The packer: DST to a circular buffer, in the buffer's format.
#include <cstring>

#include "buffers.h"
#include "matrix_unit.h"
#include "registers.h"
#include "rounding.h"

#include "api/compute/pack.h"

namespace ttl_host {

namespace {

// The chip's packer breaks ties to bfloat16 away from zero. (Of block floats it always does.)
bool rounds_away(const Fiber& fiber, const TileFormat& format) {
  return rounds_like_chip(fiber) && format.fits_16_bit_dst && format.tile_bytes == 2048 &&
         !format.is_integer;
}

bool is_plain(const Compute& compute, bool from_upper_half) {
  return compute.pack_mask == PackMask::All && compute.pack_relu == PackRelu::None &&
         !compute.pack_adds_to_l1 && !from_upper_half;
}

void apply_mask(PackMask mask, float* values) {
  for (uint32_t row = 0; row < 32; ++row)
    for (uint32_t column = 0; column < 32; ++column) {
      const bool is_kept = mask == PackMask::FirstColumns ? column % 16 == 0
                           : mask == PackMask::FirstRow   ? row == 0
                                                          : row == 0 && column == 0;
      if (!is_kept) values[place_of(row, column)] = 0.0f;
    }
}

// Numbers are compared as sign and magnitude: a NaN without a sign is not below zero. (That was not
// tried on a chip.)
float after_relu(PackRelu relu, float threshold, float x) {
  if (relu == PackRelu::Zero) return bits_of(x) >> 31 ? 0.0f : x;
  if (relu == PackRelu::MinThreshold) return x > threshold ? x : 0.0f;
  return x > threshold ? threshold : x > 0.0f ? x : 0.0f;
}

// With L1 accumulation each pack rounds to the buffer's format.
void add_to(const TileFormat& format, const uint8_t* tile, float* values, float* scratch) {
  format.unpack(tile, scratch);
  if (!format.is_integer) return tile_math().add(values, scratch, values, Rounding::None);
  for (uint32_t i = 0; i < tile_values; ++i)
    values[i] = float_of(bits_of(values[i]) + bits_of(scratch[i]));
}

// Sums in float32, the way a product of large blocks ends: where they are.
bool is_plain_sum(const Compute& compute, const TileFormat& format) {
  return compute.pack_adds_to_l1 && compute.pack_mask == PackMask::All &&
         compute.pack_relu == PackRelu::None && !format.is_integer && format.tile_bytes == 4096;
}

const float* processed(Compute& compute, const TileFormat& format, const float* slot,
                       const uint8_t* tile, bool from_upper_half) {
  float* values = compute.packed_values;
  memcpy(values, slot, sizeof(compute.packed_values));
  for (uint32_t i = 0; from_upper_half && i < tile_values; ++i)
    values[i] = float_of(bits_of(values[i]) >> 16);
  if (compute.pack_mask != PackMask::All) apply_mask(compute.pack_mask, values);
  if (compute.pack_relu != PackRelu::None)
    for (uint32_t i = 0; i < tile_values; ++i)
      values[i] = after_relu(compute.pack_relu, compute.pack_relu_threshold, values[i]);
  if (compute.pack_adds_to_l1) add_to(format, tile, values, compute.source_a_values);
  return values;
}

}  // namespace

}  // namespace ttl_host

namespace ckernel::detail {

using namespace ttl_host;

// api/compute/pack.h: pack_tile<true>. At the start of the reservation plus `tile`; the place of
// the next pack in sequence stays where it is.
void pack_at(uint32_t slot, uint32_t index, uint32_t tile, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  CircularBuffer& buffer = buffer_at(fiber, index, line);
  const float* values = packed_slot(fiber, slot, line);
  check_packer(compute, buffer, line);
  uint8_t* place = reserved_tile(fiber, buffer, tile, line);
  if (is_plain_sum(compute, *buffer.format)) {
    float* sums = reinterpret_cast<float*>(place);
    return tile_math().add(values, sums, sums, Rounding::None);
  }
  const bool from_upper_half = buffer.format->is_half_word && !dst_is_16_bit(fiber);
  if (!is_plain(compute, from_upper_half))
    values = processed(compute, *buffer.format, values, place, from_upper_half);
  if (rounds_away(fiber, *buffer.format)) {
    tile_math().copy(values, compute.packed_values, Rounding::NearestAway);
    values = compute.packed_values;
  }
  buffer.format->pack(values, place);
}

// api/compute/pack.h: pack_tile, pack_block. Only cb_push_back starts again at 0.
void pack_next(uint32_t slot, uint32_t index, int line) {
  CircularBuffer& buffer = buffer_at(self(line), index, line);
  pack_at(slot, index, buffer.pack_offset, line);
  buffer.pack_offset += 1;
}

// api/compute/pack.h: pack_reconfig_l1_acc. Stays until it is changed.
void accumulate_in_l1(bool on) { compute_of(self()).pack_adds_to_l1 = on; }

// api/compute/pack.h: pack_relu_config. The threshold is a bfloat16; it stays until it is changed.
void configure_relu(uint32_t mode, uint32_t threshold) {
  Compute& compute = compute_of(self());
  compute.pack_relu = static_cast<PackRelu>(mode);
  compute.pack_relu_threshold = float_of(threshold << 16);
}

}  // namespace ckernel::detail
