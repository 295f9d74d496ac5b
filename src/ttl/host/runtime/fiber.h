// A second stack to run on. Switching saves what the calling convention says a call preserves.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace ttl_host {

#if defined(__x86_64__) || defined(__aarch64__)
struct Context {
  void* stack_pointer;
};
#else
struct Context {
  ucontext_t machine;
};
#endif

// `entry` must never return.
void prepare(Context& context, void* stack, size_t bytes, void (*entry)());
void switch_context(Context& from, Context& to);

}  // namespace ttl_host
