// DST: float32 storage per slot; in 16-bit mode every value in it is a bfloat16.
#pragma once

#include "machine.h"

namespace ttl_host {

// A slot that is read, or read and written: it is zero since tile_regs_acquire if nobody wrote it.
float* slot_values(Fiber& fiber, uint32_t slot, int line);
// A slot that is about to be overwritten.
float* overwritten_slot(Fiber& fiber, uint32_t slot, int line);
// A slot of a committed section, for the packer.
const float* packed_slot(Fiber& fiber, uint32_t slot, int line);

// How a buffer is unpacked.
Source source_of(const CircularBuffer& buffer);

bool dst_is_16_bit(const Fiber& fiber);

// Whether ties go where the chip has them (`ttl run --rounding chip`), or as in the language.
bool rounds_like_chip(const Fiber& fiber);

// The matrix unit rounds what it puts into a 16-bit DST; the chip breaks ties away from zero.
Rounding matrix_rounding(const Fiber& fiber);
// SFPSTORE cuts off what a 16-bit DST cannot hold.
Rounding store_rounding(const Fiber& fiber);
// Vector operations that round in software before they store.
Rounding software_rounding(const Fiber& fiber);

}  // namespace ttl_host
