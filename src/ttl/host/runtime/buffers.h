// Circular buffers: credits counted in pages, the same for compute and data movement kernels.
#pragma once

#include "machine.h"

namespace ttl_host {

// The bytes of a tile that was waited for; of a page that is reserved.
const uint8_t* front_tile(Fiber& fiber, CircularBuffer& buffer, uint32_t tile, int line);
uint8_t* reserved_tile(Fiber& fiber, CircularBuffer& buffer, uint32_t tile, int line);

}  // namespace ttl_host
