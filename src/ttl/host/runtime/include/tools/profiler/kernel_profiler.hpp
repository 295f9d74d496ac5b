// tools/profiler/kernel_profiler.hpp: where kernels of earlier releases find the header.
#pragma once

#include "api/debug/kernel_profiler.hpp"
