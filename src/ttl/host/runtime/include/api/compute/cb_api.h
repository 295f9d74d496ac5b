#pragma once

#include "api/compute/common_globals.h"
#include "api/debug/dprint.h"  // LocalCBInterface
#include "hostdevcommon/kernel_calls.h"

// What a circular buffer's ends count, and what the three processors tell each other: as one fiber
// does the work of all three, a word for all of them is enough.
volatile uint32_t* get_cb_tiles_received_ptr(uint32_t cb);
volatile uint32_t* get_cb_tiles_acked_ptr(uint32_t cb);

namespace ckernel {

enum class ThreadId : std::uint8_t { UnpackThreadId, MathThreadId, PackThreadId };

// Others run meanwhile: whoever reads a register waits for somebody.
uint32_t reg_read(uintptr_t address, int line = __builtin_LINE());
void mailbox_write(ThreadId to, uint32_t word);
uint32_t mailbox_read(ThreadId from);

using ttl_kernel::cb_pop_front;
using ttl_kernel::cb_push_back;
using ttl_kernel::cb_reserve_back;
using ttl_kernel::cb_wait_front;

}  // namespace ckernel
