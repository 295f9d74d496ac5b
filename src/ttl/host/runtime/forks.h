// A child of fork() has one thread. What others held or counted then is to be as at the start.
#pragma once

#include <pthread.h>

namespace ttl_host {

// Registered when the library is loaded, before any thread can hold a lock of it.
struct AtFork {
  explicit AtFork(void (*in_child)(), void (*before)() = nullptr, void (*in_parent)() = nullptr)
      : is_registered(!pthread_atfork(before, in_parent, in_child)) {}
  const bool is_registered;
};

}  // namespace ttl_host
