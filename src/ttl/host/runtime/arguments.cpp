#include "arguments.h"

namespace ttl_host {

// The artifact has no arguments per node yet.
uint32_t runtime_argument(int index, int line) {
  fault(line, "runtime argument %d is read, but the kernel has none", index);
}

uint32_t common_runtime_argument(int index, int line) {
  const TtlKernel& kernel = *self(line).kernel;
  if (index < 0 || static_cast<uint32_t>(index) >= kernel.common_argument_count)
    fault(line, "common runtime argument %d is read, but the kernel has %u", index,
          kernel.common_argument_count);
  return kernel.common_arguments[index];
}

}  // namespace ttl_host
