// What a kernel knows about itself, the same for compute and data movement kernels.
#pragma once

#include "machine.h"

namespace ttl_host {

uint32_t runtime_argument(int index, int line);
uint32_t common_runtime_argument(int index, int line);

}  // namespace ttl_host
