// A second stack to run on. Switching saves what the calling convention says a call preserves.
#pragma once

#include <cstddef>

#if !defined(__x86_64__) && !defined(__aarch64__)
#include <ucontext.h>
#endif

namespace ttl_host {

struct Context {
#if defined(__x86_64__) || defined(__aarch64__)
  void* stack_pointer;
#else
  ucontext_t machine;
#endif
  void* watched;  // ThreadSanitizer's idea of it, in a build with that
};

// `entry` must never return.
void prepare(Context& context, void* stack, size_t bytes, void (*entry)());
void switch_context(Context& from, Context& to);
void discard(Context& context);

}  // namespace ttl_host
