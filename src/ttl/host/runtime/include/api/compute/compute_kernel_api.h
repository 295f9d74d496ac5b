#pragma once

#include "api/compute/common_globals.h"

// Approximation is not modelled: every mode computes the function.
TTL_VECTOR_INIT(sigmoid_tile_init, template <bool fast_and_approx = false>)

TTL_INIT(log_with_base_tile_init, "log_tile_init", TTL_APPROXIMATE(false))
TTL_OF_SLOT1(
    log_with_base_tile,
    template <
        bool fast_and_approx = false,
        bool base_is_two = false,
        bool is_fp32_dest_acc_en = DST_ACCUM_MODE>)

TTL_PLAIN_INIT(power_iterative_tile_init)
TTL_OF_SLOT1(power_iterative_tile)

namespace ckernel {

namespace detail {
OfSlot sigmoid_tile;
void sfpu_reduce(uint32_t slot, PoolType pool, DataFormat format, ReduceDim dim, int line);
}  // namespace detail

template <
    VectorMode vec_mode = VectorMode::RC,
    bool fast_and_approx = false,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sigmoid_tile(uint32_t idst, int line = __builtin_LINE()) {
  TTL_COMPUTES(line);
  detail::sigmoid_tile(idst, vec_mode, line);
}

// Of the formats that the chip has, the executor has those of 32 bits.
constexpr bool sfpu_reduce_format_supported(DataFormat format) {
  return format == DataFormat::Float32 || format == DataFormat::Int32 ||
         format == DataFormat::UInt32;
}

template <PoolType pool_type, DataFormat format, bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sfpu_reduce_init(CallLine line = CallLine(__builtin_LINE())) {
  TTL_COMPUTES(line.number);
  static_assert(sfpu_reduce_format_supported(format), "Unsupported data format");
  detail::begin_vector(
      "sfpu_reduce_init",
      static_cast<uint32_t>(pool_type) * 256 + static_cast<uint32_t>(format));
}

template <
    PoolType pool_type,
    DataFormat format,
    ReduceDim reduce_dim = ReduceDim::REDUCE_COL,
    bool is_fp32_dest_acc_en = DST_ACCUM_MODE>
ALWI void sfpu_reduce(uint32_t idst, int line = __builtin_LINE()) {
  static_assert(sfpu_reduce_format_supported(format), "Unsupported data format");
  static_assert(
      reduce_dim != ReduceDim::REDUCE_SCALAR && pool_type != PoolType::AVG,
      "Only row and column reductions by SUM, MAX and MIN are supported");
  TTL_COMPUTES(line);
  detail::sfpu_reduce(idst, pool_type, format, reduce_dim, line);
}

}  // namespace ckernel
