// The parts of a run: scheduler.cpp runs what set_up.cpp has laid out.
#pragma once

#include "machine.h"

// Without the library's call to find the variable, which would be made at every device call.
#if defined(__linux__) && defined(__GLIBC__)
#define TTL_THREAD_LOCAL thread_local __attribute__((tls_model("initial-exec")))
#else
#define TTL_THREAD_LOCAL thread_local
#endif

namespace ttl_host {

extern TTL_THREAD_LOCAL Fiber* running;  // null in the scheduler

void run_kernel();  // where every fiber begins
void start(Run& run, Fiber& fiber);

constexpr size_t stack_bytes = 256 * 1024;
constexpr size_t guard_bytes = 64 * 1024;  // a multiple of every page size in use

uint32_t set_up(Run& run);  // a TtlStatus
void tear_down(Run& run);

}  // namespace ttl_host
