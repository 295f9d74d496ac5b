#pragma once

#include "api/compute/common.h"

namespace ckernel {

template <bool full_init, EltwiseBinaryType eltwise_binary_type>
ALWI void binary_tiles_init(
    uint32_t icb0,
    uint32_t icb1,
    bool acc_to_dest = false,
    uint32_t call_line = __builtin_LINE()) {
  TTL_COMPUTES(call_line);
  detail::begin_binary(eltwise_binary_type, BroadcastType::NONE, acc_to_dest);
}

// Of add, sub and mul: operands in buffers, one tile or several, and one operand in DST.
#define TTL_BINARY(name, type, accumulates)                                                   \
  ALWI void name##_init(                                                                      \
      uint32_t icb0,                                                                          \
      uint32_t icb1,                                                                          \
      bool acc_to_dest = accumulates,                                                         \
      uint32_t call_line = __builtin_LINE()) {                                                \
    TTL_COMPUTES(call_line);                                                                  \
    binary_tiles_init<true, EltwiseBinaryType::type>(icb0, icb1, acc_to_dest, call_line);     \
  }                                                                                           \
  TTL_WIDE ALWI void name##_tiles(                                                            \
      uint32_t icb0,                                                                          \
      uint32_t icb1,                                                                          \
      uint32_t itile0,                                                                        \
      uint32_t itile1,                                                                        \
      uint32_t idst,                                                                          \
      int line = __builtin_LINE()) {                                                          \
    TTL_COMPUTES(line, icb0, icb1);                                                           \
    detail::binary_tiles(                                                                     \
        EltwiseBinaryType::type,                                                              \
        BroadcastType::NONE,                                                                  \
        {icb0, icb1, itile0, itile1, idst, 0},                                                \
        line);                                                                                \
  }                                                                                           \
  TTL_WIDE ALWI void name##_block(                                                            \
      uint32_t icb0,                                                                          \
      uint32_t icb1,                                                                          \
      uint32_t start_itile0,                                                                  \
      uint32_t start_itile1,                                                                  \
      uint32_t start_idst,                                                                    \
      uint32_t ntiles,                                                                        \
      int line = __builtin_LINE()) {                                                          \
    TTL_COMPUTES_TIMES(line, ntiles, 1, icb0, icb1);                                          \
    for (uint32_t i = 0; i < ntiles; ++i)                                                     \
      name##_tiles(icb0, icb1, start_itile0 + i, start_itile1 + i, start_idst + i, line);     \
  }                                                                                           \
  template <EltwiseBinaryReuseDestType reuse_dest>                                            \
  ALWI void name##_reuse_dest_init(uint32_t icb, uint32_t call_line = __builtin_LINE()) {     \
    static_assert(                                                                            \
        reuse_dest != EltwiseBinaryReuseDestType::NONE,                                       \
        "reuse_dest must be DEST_TO_SRCA or DEST_TO_SRCB");                                   \
    TTL_COMPUTES(call_line);                                                                  \
    detail::begin_reuse(EltwiseBinaryType::type, reuse_dest);                                 \
  }                                                                                           \
  template <EltwiseBinaryReuseDestType reuse_dest, bool is_fp32_dest_acc_en = DST_ACCUM_MODE> \
  ALWI void name##_reuse_dest_tiles(                                                          \
      uint32_t in_cb_id,                                                                      \
      uint32_t in_tile_index,                                                                 \
      uint32_t dst_tile_index,                                                                \
      int line = __builtin_LINE()) {                                                          \
    TTL_COMPUTES(line, in_cb_id);                                                             \
    detail::reuse_tiles(                                                                      \
        EltwiseBinaryType::type, reuse_dest, in_cb_id, in_tile_index, dst_tile_index, line);  \
  }

TTL_BINARY(add, ELWADD, false)
TTL_BINARY(sub, ELWSUB, false)
TTL_BINARY(mul, ELWMUL, true)

}  // namespace ckernel
