// What the compiler calls where an int of a kernel leaves its 32 bits: build.py asks for it. The
// first argument says where: with the kernel's own line numbers, thanks to #line.
#include <cstdint>

#include "machine.h"

namespace {

// As the compilers lay it out, of each kind of overflow.
struct Place {
  const char* file;
  uint32_t line;
  uint32_t column;
};

[[noreturn]] void overflow(const Place* place) {
  ttl_host::fault(static_cast<int>(place->line), "an int of the kernel leaves its 32 bits");
}

}  // namespace

#define OVERFLOW(kind)                                                                     \
  extern "C" __attribute__((visibility("default"))) void __ubsan_handle_##kind##_overflow_abort( \
      const void* place, uintptr_t, uintptr_t) {                                           \
    overflow(static_cast<const Place*>(place));                                            \
  }

OVERFLOW(add)
OVERFLOW(sub)
OVERFLOW(mul)
OVERFLOW(divrem)

extern "C" __attribute__((visibility("default"))) void __ubsan_handle_negate_overflow_abort(
    const void* place, uintptr_t) {
  overflow(static_cast<const Place*>(place));
}
