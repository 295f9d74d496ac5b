// api/debug/assert.h: as with the watcher on.
#pragma once

namespace ttl_assert {
[[noreturn]] void failed(int line);
}

#define ASSERT(condition, ...) ((condition) ? (void)0 : ttl_assert::failed(__LINE__))
