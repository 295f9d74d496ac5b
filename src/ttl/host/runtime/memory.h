// What a run works in, kept for the next one: mapping it anew takes longer than a short run.
#pragma once

#include "machine.h"

namespace ttl_host {

struct Block {
  uint8_t* bytes;
  size_t size;

  // At least so many bytes, with anything in them; false without memory.
  bool hold(size_t wanted);
};

struct Memory {
  Block tables, computes, factors, stacks, l1;
  bool l1_is_low;
};

// For one run at a time; a second one gets memory of its own. Null: there is none.
Memory* take_memory();
void give_back(Memory* memory);

bool hold_stacks(Memory& memory, uint32_t count);  // with a guard before each
bool hold_l1(Memory& memory, size_t bytes);

// The next of the tables.
template <typename Item>
Item* take(uint8_t*& end, size_t count) {
  auto* items = reinterpret_cast<Item*>(end);
  end += (count * sizeof(Item) + 63) / 64 * 64;
  return items;
}

}  // namespace ttl_host
