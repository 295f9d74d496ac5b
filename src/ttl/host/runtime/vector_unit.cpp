#include "vector_unit.h"

namespace ttl_host {

namespace {

const char* const init_names[] = {
#define TTL_NAME(name) #name,
    TTL_VECTOR_INITS(TTL_NAME)
#undef TTL_NAME
};

}  // namespace

Fiber& begin_call(const VectorCall& call) {
  Fiber& fiber = self(call.line);
  if (call.init != VectorInit::none && compute_of(fiber).vector_init != call.init)
    fault(call.line, "%s needs %s as the last vector init that loads constants", call.name,
          init_names[static_cast<int>(call.init)]);
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
void begin_vector(VectorInit init, uint32_t parameter) {
  ttl_host::Compute& compute = ttl_host::compute_of(ttl_host::self());
  if (init == VectorInit::none) return;
  compute.vector_init = init;
  compute.vector_parameter = parameter;
}

}  // namespace ckernel::detail
