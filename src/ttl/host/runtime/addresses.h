// Addresses on the NoC: a place in a tensor, in the L1 of a node, or in that of a rectangle of
// nodes.
#pragma once

#include "machine.h"

namespace ttl_host {

struct Place {
  uint8_t* bytes;
  uint32_t alignment_offset;  // the address modulo every alignment the chip knows
  uint32_t usable_bytes;      // the padding of a page is not stored
  uint32_t tensor;
  uint32_t node;
  bool in_dram;
  TileOfRows tile;
  uint64_t page;  // of a tensor
};

// A rectangle of virtual coordinates, and the place in the L1 of each of its nodes.
struct Rectangle {
  uint32_t first_x, first_y, last_x, last_y;
  uint32_t address;
};

uint64_t tensor_address(uint64_t tensor, uint64_t byte);
uint64_t node_address(uint32_t x, uint32_t y, uint32_t address);
uint64_t multicast_address(const Rectangle& rectangle);

// Fault where `bytes` of them are not the kernel's to use.
Place place(Fiber& fiber, uint64_t address, uint32_t bytes, int line);
Place place_in_own_l1(Fiber& fiber, uint32_t address, uint32_t bytes, int line);
Place place_on_node(Fiber& fiber, uint32_t node, uint32_t address, uint32_t bytes, int line);

// The corners in ascending order; NoC 1 wants them the other way round.
Rectangle rectangle_of(const Fiber& fiber, uint64_t address, uint8_t noc, int line);

// The word of this node's L1 that a kernel's pointer stands for.
volatile uint32_t* word_at(Fiber& fiber, const volatile void* pointer, int line);

// How many bytes of each bank a tensor in L1 takes.
uint32_t bytes_in_bank(const Run& run, uint32_t tensor);

// The page in the L1 of the node that has it in its shard; null where buffers lie in no shard of it.
uint8_t* home_of_page(const Run& run, uint32_t tensor, uint64_t page);

// By its address; by one that lies in it, in any of so many banks of DRAM.
uint32_t find_tensor(const Fiber& fiber, uint32_t base, int line);
uint32_t find_dram_tensor(const TtlProgram& program, uint32_t address, uint32_t banks, int line);

// Where a node has the bytes that a tensor in L1 takes in every bank; 0 where it has none.
uint32_t local_tensor_address(const Fiber& fiber, uint32_t tensor);

}  // namespace ttl_host
