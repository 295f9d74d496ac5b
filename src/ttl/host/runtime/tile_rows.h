// Tiles of tensors that keep their elements in rows, one matrix after the other.
#pragma once

#include "machine.h"

namespace ttl_host {

// Between the rows of a tile, from the place where a transfer begins in it, and its page in L1.
void move_to_page(const TileOfRows& tile, uint32_t bytes, const uint8_t* rows, uint8_t* page);
void move_to_rows(const TileOfRows& tile, uint32_t bytes, const uint8_t* page, uint8_t* rows);

// How many of the transfers, from the first on, read whole tiles that lie side by side in their rows to
// pages that follow each other.
uint32_t neighbours(const Transfer* transfers, uint32_t count);
// Moves so many at once, row by row: what lies side by side comes to the processor together.
void read_neighbours(const Transfer& first, uint32_t count);

// Where the tile goes comes to the processor, if the transfer writes one. The lock of the next write
// (written.cpp) waits until all before it have arrived.
void expect_write(const Transfer& transfer);

// A page of a tensor, from where it is stored to L1 or back.
void load_page(const TtlTensor& tensor, uint64_t page, uint8_t* in_l1);
void store_page(const TtlTensor& tensor, uint64_t page, const uint8_t* in_l1);

}  // namespace ttl_host
