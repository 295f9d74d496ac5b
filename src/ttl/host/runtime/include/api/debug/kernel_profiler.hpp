// api/debug/kernel_profiler.hpp: empty unless the profiler is on.
#pragma once

#define DeviceZoneScopedN(name)
