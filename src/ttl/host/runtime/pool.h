// The threads that run the nodes of a program: the one that asked, and helpers that stay for the next
// run.
#pragma once

#include <pthread.h>

#include "machine.h"

namespace ttl_host {

// One that stays until the process ends; false where there is none to be had.
bool start_thread(pthread_t& thread, void* (*body)(void*), void* argument);

// Takes the helpers, if no other run has them, and notes who they are; results never depend on it.
void join_pool(Run& run);
void leave_pool(Run& run);

// Calls `work` with each of 0 .. count - 1, in any order and at the same time, and the number of the
// thread. All have ended when it returns.
using Work = void (*)(Run& run, uint32_t item, uint32_t thread);
void for_all(Run& run, uint32_t count, Work work);
// What this thread does now takes longer than waking helpers that sleep.
void call_helpers(Run& run);

}  // namespace ttl_host
