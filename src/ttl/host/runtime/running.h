// The parts of a run: scheduler.cpp runs what set_up.cpp has laid out.
#pragma once

#include "machine.h"

namespace ttl_host {

void run_kernel();  // where every fiber begins
void make_ready(Lane& lane, Fiber& fiber);
// To a fiber that begins: one that another left, still in this thread's cache, or a new one.
void give_stack(Lane& lane, Fiber& fiber);

constexpr uint32_t words_per_heartbeat = 8;  // a line of the cache

// Runs what is ready in a lane, as the given thread of the pool, until nothing is.
void run_ready(Lane& lane, uint32_t thread);
// The last word of a run: what a lane ended with, who waits, what is left in buffers.
bool take_status(Run& run);
bool have_ended(const Run& run);

// rounds.cpp
void run_in_rounds(Run& run);

constexpr size_t stack_bytes = 256 * 1024;
constexpr size_t guard_bytes = 64 * 1024;  // a multiple of every page size in use

uint32_t set_up(Run& run);  // a TtlStatus
// In rounds, where no shards lie in L1, by the thread that begins with the node: so it is in its cache.
void clear_l1(Run& run, Node& node);
void tear_down(Run& run);

}  // namespace ttl_host
