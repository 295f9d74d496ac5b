#pragma once

#include <cstdint>

namespace ckernel {

enum class SrcOrder : uint8_t {
  Regular = 0,
  Reverse = 1,  // the first buffer feeds source B, as in matmul
};

}  // namespace ckernel
