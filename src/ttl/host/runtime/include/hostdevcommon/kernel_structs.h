// hostdevcommon/kernel_structs.h: names for the indices of circular buffers.
#pragma once

#include <cstdint>

namespace tt {

#define TTL_INDICES(X)                                                                          \
  X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) X(15) X(16)   \
  X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) X(27) X(28) X(29) X(30) X(31)

enum CBIndex : std::uint8_t {
#define TTL_INDEX(number) c_##number = number,
  TTL_INDICES(TTL_INDEX)
#undef TTL_INDEX
};

#undef TTL_INDICES

// Deprecated in 0.81.
enum CB : std::uint8_t {
#define TTL_EIGHT(name, first)                                                          \
  name##0 = first, name##1, name##2, name##3, name##4, name##5, name##6, name##7,
  TTL_EIGHT(c_in, 0) TTL_EIGHT(dataflow, 8) TTL_EIGHT(c_out, 16) TTL_EIGHT(c_intermed, 24)
#undef TTL_EIGHT
};

}  // namespace tt
