// api/compute/eltwise_binary.h
#pragma once

#include <cstdint>

#include "api/compute/common.h"

namespace ckernel {

void add_init(
    std::uint32_t icb0,
    std::uint32_t icb1,
    bool acc_to_dest = false,
    std::uint32_t call_line = __builtin_LINE());
void sub_init(
    std::uint32_t icb0,
    std::uint32_t icb1,
    bool acc_to_dest = false,
    std::uint32_t call_line = __builtin_LINE());
void mul_init(
    std::uint32_t icb0,
    std::uint32_t icb1,
    bool acc_to_dest = true,
    std::uint32_t call_line = __builtin_LINE());

namespace detail {
using BinaryTiles = void(
    std::uint32_t icb0,
    std::uint32_t icb1,
    std::uint32_t itile0,
    std::uint32_t itile1,
    std::uint32_t idst,
    int line);
BinaryTiles add, subtract, multiply;
}  // namespace detail

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void mul_tiles(
    std::uint32_t icb0,
    std::uint32_t icb1,
    std::uint32_t itile0,
    std::uint32_t itile1,
    std::uint32_t idst,
    int line = __builtin_LINE()) {
  detail::multiply(icb0, icb1, itile0, itile1, idst, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void add_tiles(
    std::uint32_t icb0,
    std::uint32_t icb1,
    std::uint32_t itile0,
    std::uint32_t itile1,
    std::uint32_t idst,
    int line = __builtin_LINE()) {
  detail::add(icb0, icb1, itile0, itile1, idst, line);
}

template <bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sub_tiles(
    std::uint32_t icb0,
    std::uint32_t icb1,
    std::uint32_t itile0,
    std::uint32_t itile1,
    std::uint32_t idst,
    int line = __builtin_LINE()) {
  detail::subtract(icb0, icb1, itile0, itile1, idst, line);
}

}  // namespace ckernel
