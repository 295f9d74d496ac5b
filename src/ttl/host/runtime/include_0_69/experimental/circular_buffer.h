// experimental/circular_buffer.h of ttnn 0.69. Kernels open that namespace too: the class is put into
// the one of their scope.
#pragma once

#include "api/dataflow/circular_buffer.h"

#define TTL_EXPERIMENTAL_SCOPE(from) \
  namespace experimental {           \
  using from::CircularBuffer;        \
  }
