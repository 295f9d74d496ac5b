#include "vector_unit.h"

#include <cstring>

namespace ttl_host {

Fiber& begin_call(const VectorCall& call) {
  Fiber& fiber = self(call.line);
  const char* loaded = compute_of(fiber).vector_init;
  if (*call.init && (!loaded || strcmp(loaded, call.init) != 0))
    fault(call.line, "%s needs %s as the last vector init that loads constants", call.name,
          call.init);
  return fiber;
}

// llk_math_eltwise_sfpu_common.h
uint32_t touched_faces(VectorMode mode) {
  switch (mode) {
    case VectorMode::RC: return 0b1111;
    case VectorMode::R: return 0b0011;
    case VectorMode::C: return 0b0101;
    default: return 0b0001;
  }
}

}  // namespace ttl_host

namespace ckernel::detail {

// An init without constants leaves those that are loaded.
void begin_vector(const char* loaded, uint32_t parameter) {
  ttl_host::Compute& compute = ttl_host::compute_of(ttl_host::self());
  if (!*loaded) return;
  compute.vector_init = loaded;
  compute.vector_parameter = parameter;
}

}  // namespace ckernel::detail
