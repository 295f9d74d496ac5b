// Circular buffers: credits counted in pages, the same for compute and data movement kernels.
#pragma once

#include "machine.h"

namespace ttl_host {

void wait_front(uint32_t index, uint32_t pages, int line);
void pop_front(uint32_t index, uint32_t pages, int line);
void reserve_back(uint32_t index, uint32_t pages, int line);
void push_back(uint32_t index, uint32_t pages, int line);

// Polls: a kernel that asks in vain lets the others run.
bool has_front(uint32_t index, uint32_t pages, int line);
bool has_back(uint32_t index, uint32_t pages, int line);

// The bytes of a tile that was waited for; of a page that is reserved.
const uint8_t* front_tile(Fiber& fiber, CircularBuffer& buffer, uint32_t tile, int line);
uint8_t* reserved_tile(Fiber& fiber, CircularBuffer& buffer, uint32_t tile, int line);

}  // namespace ttl_host
