"""Functions that a kernel defines itself, as text: neither C++ nor the chip has them."""

from __future__ import annotations

from ttl.dialects import ttkernel

HELPER_TEXTS = {
    # Python rounds a quotient down, C++ toward zero.
    "floor_divide": "const auto floor_divide = [](int32_t a, int32_t b) -> int32_t "
    "{ return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0); };",
    # As in Python. The remainder is exact: each subtraction takes at least half of it.
    "float_remainder": "const auto float_remainder = [](double a, double b) -> double { "
    "double r = a < 0 ? -a : a; const double d = b < 0 ? -b : b; "
    'if (!(r - r == 0) || d != d || d == 0) { return __builtin_nan(""); } '
    "while (r >= d) { double part = d; while (part + part <= r) { part += part; } r -= part; } "
    "if (r == 0) { return b < 0 ? -0.0 : 0.0; } "
    "return (a < 0) != (b < 0) ? b - (b < 0 ? -r : r) : a < 0 ? -r : r; };",
    "floor_divide_floats": "const auto floor_divide_floats = [&](double a, double b) -> double { "
    "const double q = (a - float_remainder(a, b)) / b; "
    "if (!(q < 4503599627370496.0 && q > -4503599627370496.0)) { return q; } "
    "const double down = static_cast<double>(static_cast<int64_t>(q < 0 ? q - 0.5 : q + 0.5)); "
    "return down == 0 ? a / b * 0.0 : down; };",
    # To nearest, ties to even; if a float cannot hold the value, its last bit becomes odd.
    ttkernel.ROUND: "const auto nearest_bfloat16 = [](double x) -> double "
    "{ const float f = (float)x; uint32_t b = __builtin_bit_cast(uint32_t, f); "
    "if ((double)f != x && (b & 1u) == 0) { b += (x > (double)f) == (f > 0) ? 1u : ~0u; } "
    "b += 0x7fffu + (b >> 16 & 1u); "
    "return (double)__builtin_bit_cast(float, b & 0xffff0000u); };",
    # Only the unpacker knows what it has popped; the others use its answer. Counts have 16 bits.
    "ask_unpacker": "const auto ask_unpacker = [](uint32_t cb, uint32_t tiles) -> bool "
    "{ uint32_t answer = 0; UNPACK({ "
    "const uint16_t received = reg_read((uintptr_t)get_cb_tiles_received_ptr(cb)); "
    "const uint16_t filled = received - get_local_cb_interface(cb).tiles_acked; "
    "answer = filled >= tiles; "
    "mailbox_write(ckernel::ThreadId::MathThreadId, answer); "
    "mailbox_write(ckernel::ThreadId::PackThreadId, answer); }) "
    "MATH(answer = mailbox_read(ckernel::ThreadId::UnpackThreadId);) "
    "PACK(answer = mailbox_read(ckernel::ThreadId::UnpackThreadId);) "
    "return answer != 0; };",
    # Only the packer knows what it has pushed.
    "ask_packer": "const auto ask_packer = [](uint32_t cb, uint32_t tiles) -> bool "
    "{ uint32_t answer = 0; PACK({ "
    "const uint16_t acked = reg_read((uintptr_t)get_cb_tiles_acked_ptr(cb)); "
    "const uint16_t filled = get_local_cb_interface(cb).tiles_received - acked; "
    "answer = get_local_cb_interface(cb).fifo_num_pages - filled >= tiles; "
    "mailbox_write(ckernel::ThreadId::UnpackThreadId, answer); "
    "mailbox_write(ckernel::ThreadId::MathThreadId, answer); }) "
    "UNPACK(answer = mailbox_read(ckernel::ThreadId::PackThreadId);) "
    "MATH(answer = mailbox_read(ckernel::ThreadId::PackThreadId);) "
    "return answer != 0; };",
    # Within L1, where the NoC cannot copy: byte by byte, as the ranges may overlap.
    ttkernel.MOVE_BYTES: "const auto move_bytes = [](uint32_t to, uint32_t from, uint32_t bytes) "
    "{ invalidate_l1_cache(); "
    "auto* const t = reinterpret_cast<volatile tt_l1_ptr uint8_t*>((uintptr_t)to); "
    "auto* const f = reinterpret_cast<volatile tt_l1_ptr uint8_t*>((uintptr_t)from); "
    "if (to < from) { for (uint32_t i = 0; i < bytes; ++i) { t[i] = f[i]; } } "
    "else { for (uint32_t i = bytes; i > 0; --i) { t[i - 1] = f[i - 1]; } } };",
    ttkernel.L1_WORD: "const auto l1_word = [](uint32_t address) "
    "{ return reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };",
    # After a wait for a semaphore, which has invalidated the cache.
    ttkernel.READ_WORD: "const auto read_l1_word = [](uint32_t address) -> int32_t "
    "{ return *reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); };",
    # The kernel holds the block: its wait, or its copy's barrier, has invalidated the cache.
    ttkernel.READ_ELEMENT["Float32"]: "const auto read_float32 = [](uint32_t address) -> double "
    "{ const uint32_t bits = *reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address); "
    "return (double)__builtin_bit_cast(float, bits); };",
    ttkernel.READ_ELEMENT["BFloat16"]: "const auto read_bfloat16 = [](uint32_t address) -> double "
    "{ const uint32_t bits = *reinterpret_cast<volatile tt_l1_ptr uint16_t*>((uintptr_t)address); "
    "return (double)__builtin_bit_cast(float, bits << 16); };",
    ttkernel.WRITE_ELEMENT["Float32"]: "const auto write_float32 = "
    "[](uint32_t address, double x) { const float f = (float)x; "
    "*reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)address) = "
    "__builtin_bit_cast(uint32_t, f); };",
    ttkernel.WRITE_ELEMENT["BFloat16"]: "const auto write_bfloat16 = "
    "[&](uint32_t address, double x) { const float f = (float)(x == x ? nearest_bfloat16(x) : x); "
    "*reinterpret_cast<volatile tt_l1_ptr uint16_t*>((uintptr_t)address) = "
    "(uint16_t)(__builtin_bit_cast(uint32_t, f) >> 16); };",
}

# Helpers called by a helper. The file has helpers in order of name, which puts these first.
CALLED_BY = {ttkernel.WRITE_ELEMENT["BFloat16"]: ttkernel.ROUND}
