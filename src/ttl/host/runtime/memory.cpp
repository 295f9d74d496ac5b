#include "memory.h"

#include <sys/mman.h>

#include <cstdlib>

#include "running.h"

namespace ttl_host {

namespace {

constexpr size_t most_kept = 256 << 20;  // of all but stacks, of which a run uses little

Memory kept;
bool is_taken = false;

void* map_memory(size_t bytes, int flags = 0) {
  void* memory =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
  return memory == MAP_FAILED ? nullptr : memory;
}

// Kernels turn L1 addresses, which have 32 bits, into pointers. They may use these where the memory
// itself lies below 4 GB, which not every system allows; the device calls work either way.
void* map_low_memory(size_t bytes) {
#if defined(MAP_32BIT)
  return map_memory(bytes, MAP_32BIT);
#else
  for (uintptr_t hint = 0x10000000; hint + bytes < 0xf0000000; hint += 0x8000000) {
    void* memory = mmap(reinterpret_cast<void*>(hint), bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return nullptr;
    if (reinterpret_cast<uintptr_t>(memory) + bytes < 0x100000000u) return memory;
    munmap(memory, bytes);
  }
  return nullptr;
#endif
}

void release(Block& block) {
  if (block.bytes) munmap(block.bytes, block.size);
  block = {};
}

bool replace(Block& block, void* memory, size_t size) {
  block = {static_cast<uint8_t*>(memory), memory ? size : 0};
  return memory != nullptr;
}

void release_all(Memory& memory) {
  Block* const blocks[] = {&memory.tables, &memory.computes, &memory.factors, &memory.stacks,
                           &memory.l1};
  for (Block* block : blocks) release(*block);
}

}  // namespace

bool Block::hold(size_t wanted) {
  if (size >= wanted) return true;
  release(*this);
  return replace(*this, map_memory(wanted), wanted);
}

Memory* take_memory() {
  if (!__atomic_exchange_n(&is_taken, true, __ATOMIC_ACQUIRE)) return &kept;
  return static_cast<Memory*>(calloc(1, sizeof(Memory)));
}

void give_back(Memory* memory) {
  if (!memory) return;
  const size_t used = memory->tables.size + memory->computes.size + memory->l1.size;
  if (memory != &kept || used > most_kept) release_all(*memory);
  if (memory != &kept) return free(memory);
  __atomic_store_n(&is_taken, false, __ATOMIC_RELEASE);
}

// A kernel that recurses for ever stops in the guard.
bool hold_stacks(Memory& memory, uint32_t count) {
  constexpr size_t one = stack_bytes + guard_bytes;
  Block& stacks = memory.stacks;
  if (stacks.size >= count * one) return true;
  if (!stacks.hold(count * one)) return false;
  for (uint32_t i = 0; i < count; ++i) mprotect(stacks.bytes + i * one, guard_bytes, PROT_NONE);
  return true;
}

bool hold_l1(Memory& memory, size_t bytes) {
  Block& l1 = memory.l1;
  if (l1.size >= bytes) return true;
  release(l1);
  void* low = map_low_memory(bytes);
  memory.l1_is_low = low != nullptr;
  return replace(l1, low ? low : map_memory(bytes), bytes);
}

}  // namespace ttl_host
