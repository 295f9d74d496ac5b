// Unpacker and matrix unit (FPU): operands come from circular buffers, results go to DST.
#pragma once

#include "buffers.h"
#include "registers.h"

namespace ttl_host {

// Faults unless the last init of these units set up what the call does: they do what they were set
// up for, whatever is called.
void check_mode(const Compute& compute, FpuMode mode, const char* call, int line);
void begin_mode(FpuMode mode);

// A tile as the unpacker passes it on; what a 16-bit DST makes of it comes afterwards.
void unpack(const Fiber& fiber, const CircularBuffer& buffer, const uint8_t* tile, float* values);

// A tile that was waited for, as one of the sources. This may feed DST only; the matrix form refuses
// integers and buffers marked UnpackToDestFp32.
enum class Side { A, B };
float* load(Fiber& fiber, Side side, uint32_t buffer, uint32_t tile, int line);
float* load_matrix(Fiber& fiber, Side side, uint32_t buffer, uint32_t tile, int line);

// Faults unless tiles of the buffer can be copied to DST; what they are there.
// The init of what moves tiles to DST counts for buffers of one format.
void begin_move(FpuMode mode, uint32_t buffer);
void check_copied(Fiber& fiber, const CircularBuffer& buffer, int line);
// Faults unless the packer is configured for the buffer.
void check_packer(const Compute& compute, const CircularBuffer& buffer, int line);
void round_moved(Fiber& fiber, const TileFormat& format, float* values);

// Where row and column stand in a tile.
constexpr uint32_t place_of(uint32_t row, uint32_t column) {
  return (row / 16 * 2 + column / 16) * face_values + row % 16 * 16 + column % 16;
}

void transpose_values(float* values);

// What the phases of a product take of a factor in this source; the rest is lost.
void keep_factor(const Fiber& fiber, Side side, const TileFormat& format, float* values);
// The digits of a factor in the source that the first phases take, and those that they leave to others.
float first_digits(Side side, float value);
float other_digits(Side side, float value);
// load_matrix() of a factor; to another place than the source itself.
float* load_factor(Fiber& fiber, Side side, uint32_t buffer, uint32_t tile, int line);
void load_factor_to(Fiber& fiber, Side side, uint32_t buffer, uint32_t tile, float* values, int line);

}  // namespace ttl_host
