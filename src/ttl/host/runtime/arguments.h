// What a kernel knows about itself, the same for compute and data movement kernels.
#pragma once

#include "machine.h"

namespace ttl_host {

const uint32_t* runtime_arguments(Fiber& fiber, uint32_t& count);
uint32_t runtime_argument(int index, int line);
uint32_t common_runtime_argument(int index, int line);

}  // namespace ttl_host
