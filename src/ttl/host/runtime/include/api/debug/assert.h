// api/debug/assert.h: as with the watcher on.
#pragma once

[[noreturn]] void assert_and_hang(int line);

#define ASSERT(condition, ...) ((condition) ? (void)0 : assert_and_hang(__LINE__))
