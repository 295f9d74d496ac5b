// api/dataflow/dataflow_api.h: semaphores, words at the start of every node's L1 that are changed by
// stores, writes and increments.
#include "addresses.h"

#include "api/dataflow/dataflow_api.h"

namespace ttl_dataflow {

using namespace ttl_host;

namespace detail {

// get_semaphore
uintptr_t semaphore_address(uint32_t id, int line) {
  const Fiber& fiber = self(line);
  const uint32_t count = fiber.run->program->semaphore_count;
  if (id >= count) fault(line, "semaphore %u is used, but the operation has %u", id, count);
  return fiber.node->l1_address + id * semaphore_bytes;
}

void noc_semaphore_wait(volatile uint32_t* sem_addr, uint32_t val, int line) {
  Fiber& fiber = self(line);
  block_on_word(fiber, word_at(fiber, sem_addr, line), val, TTL_AWAIT_EQUAL, line);
}

void noc_semaphore_wait_min(volatile uint32_t* sem_addr, uint32_t val, int line) {
  Fiber& fiber = self(line);
  block_on_word(fiber, word_at(fiber, sem_addr, line), val, TTL_AWAIT_AT_LEAST, line);
}

// a store, which is seen at once
void noc_semaphore_set(volatile uint32_t* sem_addr, uint32_t val, int line) {
  Fiber& fiber = self(line);
  *word_at(fiber, sem_addr, line) = val;
  if (fiber.lane->word_waiters) wake_words(*fiber.lane);
  perhaps_let_others_run(fiber);
}

}  // namespace detail

// internal/tt-1xx/cache.h: stands in loops that look at a word until another processor changes it
void invalidate_l1_cache(int line) { let_others_run(self(line), line); }

// internal/tt-1xx/risc_common.h
void riscv_wait(uint32_t, int line) { let_others_run(self(line), line); }

}  // namespace ttl_dataflow
