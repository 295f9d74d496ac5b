// api/debug/assert.h: does nothing unless the watcher is on.
#pragma once

#define ASSERT(condition, ...) ((void)0)
