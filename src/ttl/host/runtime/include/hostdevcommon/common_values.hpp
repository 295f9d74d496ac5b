// hostdevcommon/common_values.hpp: what kernels set semaphores to.
#pragma once

#include <cstdint>

constexpr static std::uint32_t INVALID = 0;
constexpr static std::uint32_t VALID = 1;
