// Which nodes have written a unit of a tensor, a tile or an element, and whether two that did have
// written the same bytes. Only where nothing orders the nodes.
#pragma once

#include "machine.h"

namespace ttl_host {

// False without memory.
bool follow_writes(Run& run);
// While a write to a tensor lands: no other node writes this page.
struct WriteNote {
  WriteNote(Fiber& fiber, const Transfer& transfer, const uint8_t* data)
      : lock(fiber.run->written && transfer.tensor != no_tensor ? take(fiber, transfer, data)
                                                                : nullptr) {}
  ~WriteNote() {
    if (lock) __atomic_store_n(lock, 0, __ATOMIC_RELEASE);
  }
  static uint8_t* take(Fiber& fiber, const Transfer& transfer, const uint8_t* data);
  uint8_t* lock;  // null where the write is not followed
};
// Of each tensor the first unit that nodes wrote alike, and the first that they did not.
void report_clashes(Run& run);
void forget_writes(Run& run);

}  // namespace ttl_host
