// tools/profiler/kernel_profiler.hpp of ttnn 0.69
#pragma once

#include "api/debug/kernel_profiler.hpp"
