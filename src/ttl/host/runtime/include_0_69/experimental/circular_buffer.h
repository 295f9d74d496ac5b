// experimental/circular_buffer.h of ttnn 0.69
#pragma once

#include "api/dataflow/circular_buffer.h"

namespace ttl_dataflow::experimental {
using ttl_dataflow::CircularBuffer;
}

namespace ckernel::experimental {
using ckernel::CircularBuffer;
}
