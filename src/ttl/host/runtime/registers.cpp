#include <cstring>

#include "registers.h"

#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/reconfig_data_format.h"
#include "api/compute/reg_api.h"

namespace ttl_host {

namespace {

void check_slot(const Fiber& fiber, uint32_t slot, int line) {
  const uint32_t slots = fiber.run->program->dst_slots;
  if (slot >= slots)
    fault(line, "DST slot %d is used, but a section has %u", static_cast<int>(slot), slots);
}

void check_math(const Compute& compute, int line) {
  if (compute.state != DstState::Math && compute.state != DstState::Held)
    fault(line, "a tile operation outside tile_regs_acquire .. tile_regs_commit");
}

// Once for all products that were added up: a NaN stays one.
void settle(Compute& compute, uint32_t slot) {
  if (compute.slot_has_sums[slot]) tile_math().settle_nans(compute.slots[slot]);
  compute.slot_has_sums[slot] = false;
}

void step(DstState from, DstState to, const char* call, const char* must_follow, int line) {
  Compute& compute = compute_of(self(line));
  if (compute.state != from) fault(line, "%s must follow %s", call, must_follow);
  compute.state = to;
}

}  // namespace

float* slot_values(Fiber& fiber, uint32_t slot, int line) {
  Compute& compute = compute_of(fiber);
  if (slot < max_dst_slots) settle(compute, slot);
  const bool was_live = slot < max_dst_slots && compute.slot_is_live[slot];
  float* values = overwritten_slot(fiber, slot, line);
  if (!was_live) memset(values, 0, sizeof(compute.slots[slot]));
  return values;
}

float* overwritten_slot(Fiber& fiber, uint32_t slot, int line) {
  Compute& compute = compute_of(fiber);
  check_math(compute, line);
  check_slot(fiber, slot, line);
  compute.slot_is_live[slot] = true;
  compute.slot_has_sums[slot] = false;
  return compute.slots[slot];
}

const float* packed_slot(Fiber& fiber, uint32_t slot, int line) {
  Compute& compute = compute_of(fiber);
  if (compute.state != DstState::Packing && compute.state != DstState::Held)
    fault(line, "a pack outside tile_regs_wait .. tile_regs_release");
  check_slot(fiber, slot, line);
  if (!compute.slot_is_live[slot]) memset(compute.slots[slot], 0, sizeof(compute.slots[slot]));
  compute.slot_is_live[slot] = true;
  settle(compute, slot);
  return compute.slots[slot];
}

Source source_of(const CircularBuffer& buffer) {
  return {buffer.format, buffer.plan->unpack_to_dest_fp32 != 0};
}

bool dst_is_16_bit(const Fiber& fiber) { return !fiber.run->program->fp32_dest_acc_en; }

bool rounds_like_chip(const Fiber& fiber) { return fiber.run->program->rounds_like_chip; }

Rounding matrix_rounding(const Fiber& fiber) {
  if (!dst_is_16_bit(fiber)) return Rounding::None;
  return rounds_like_chip(fiber) ? Rounding::NearestAway : Rounding::NearestEven;
}

Rounding store_rounding(const Fiber& fiber) {
  return dst_is_16_bit(fiber) ? Rounding::Truncate : Rounding::None;
}

Rounding software_rounding(const Fiber& fiber) {
  return dst_is_16_bit(fiber) ? Rounding::NearestEven : Rounding::None;
}

}  // namespace ttl_host

namespace ckernel {

using namespace ttl_host;

namespace {

// Slots are zero after this: the packer clears a section it is done with.
void acquire(DstState state, const char* call, const char* must_follow, int line) {
  step(DstState::Free, state, call, must_follow, line);
  Compute& compute = compute_of(self(line));
  if (!compute.started) fault(line, "compute_kernel_hw_startup must come first");
  memset(compute.slot_is_live, 0, sizeof(compute.slot_is_live));
  memset(compute.slot_has_sums, 0, sizeof(compute.slot_has_sums));
}

}  // namespace

namespace detail {

// api/compute/reg_api.h: tile_regs_acquire
void acquire_registers(int line) {
  acquire(DstState::Math, "tile_regs_acquire", "tile_regs_release", line);
}

// api/compute/reg_api.h: acquire_dst, for math and packer at once
void hold_registers(int line) { acquire(DstState::Held, "acquire_dst", "release_dst", line); }

// api/compute/reg_api.h: tile_regs_wait
void await_registers(int line) {
  step(DstState::Committed, DstState::Packing, "tile_regs_wait", "tile_regs_commit", line);
}

// api/compute/reg_api.h: tile_regs_commit
void commit_registers(int line) {
  step(DstState::Math, DstState::Committed, "tile_regs_commit", "tile_regs_acquire", line);
}

// api/compute/reg_api.h: tile_regs_release
void release_registers(int line) {
  step(DstState::Packing, DstState::Free, "tile_regs_release", "tile_regs_wait", line);
}

// api/compute/reg_api.h: release_dst
void release_held_registers(int line) {
  step(DstState::Held, DstState::Free, "release_dst", "acquire_dst", line);
}

// api/compute/compute_kernel_hw_startup.h
void start_up(uint32_t source_a, uint32_t source_b, uint32_t output, int line) {
  if (compute_of(self(line)).started) fault(line, "compute_kernel_hw_startup is called twice");
  start_up_again(source_a, source_b, output, line);
}

void start_up_again(uint32_t source_a, uint32_t source_b, uint32_t output, int line) {
  Fiber& fiber = self(line);
  Compute& compute = compute_of(fiber);
  compute.started = true;
  compute.source_a = source_of(buffer_at(fiber, source_a, line));
  compute.source_b = source_of(buffer_at(fiber, source_b, line));
  compute.adds_integers =
      compute.source_a.format->adds_integers || compute.source_b.format->adds_integers;
  compute.packer = buffer_at(fiber, output, line).format;
}

// api/compute/reconfig_data_format.h
void configure_source(bool is_a, uint32_t buffer) {
  Compute& compute = compute_of(self());
  Source& source = is_a ? compute.source_a : compute.source_b;
  source = source_of(buffer_at(self(), buffer, 0));
  compute.adds_integers = source.format->adds_integers;
}

// api/compute/reconfig_data_format.h: pack_reconfig_data_format
void configure_packer(uint32_t buffer) {
  compute_of(self()).packer = buffer_at(self(), buffer, 0).format;
}

}  // namespace detail

}  // namespace ckernel
