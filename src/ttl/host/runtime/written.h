// Which nodes have written a unit of a tensor, a tile or an element, and whether two that did have
// written the same bytes. Only where nothing orders the nodes.
#pragma once

#include "machine.h"

namespace ttl_host {

// False without memory.
bool follow_writes(Run& run);
// A write to a tensor is about to land.
void note_write(Fiber& fiber, const Transfer& transfer, const uint8_t* data);
void forget_writes(Run& run);

}  // namespace ttl_host
