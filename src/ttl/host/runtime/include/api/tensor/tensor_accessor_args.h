// api/tensor/tensor_accessor_args.h: compile-time words. Two for an interleaved tensor, the kind
// (0 in L1, 2 in DRAM) and the aligned page bytes. For a sharded one the kind is odd, and after the
// page bytes come the rank, the number of banks, the shapes of the tensor and of a shard in pages,
// and the coordinates of the banks, two in a word.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/compile_time_args.h"

namespace ttl_dataflow {

namespace accessors {
constexpr std::size_t UNKNOWN = static_cast<std::size_t>(-1);
}

// A kernel sees this as TensorAccessorArgs<CTA_OFFSET, CRTA_OFFSET>, with its own arguments.
template <typename Arguments, std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET>
struct TensorAccessorArgsOf {
  static_assert(CTA_OFFSET + 1 < Arguments::size, "Index out of range");
  static constexpr uint32_t kind = Arguments::values[CTA_OFFSET];
  static_assert(kind < 4, "the host runtime knows accessors without runtime arguments only");
  static constexpr bool is_sharded = (kind & 1) != 0;
  static constexpr bool is_dram = (kind & 2) != 0;
  static constexpr uint32_t AlignedPageSize = Arguments::values[CTA_OFFSET + 1];

  static constexpr uint32_t word(std::size_t index) {
    return is_sharded ? Arguments::values[CTA_OFFSET + index] : 0;
  }
  static constexpr uint32_t num_compile_time_args() {
    // The top bit of the number of banks says how shards are dealt out to them.
    return is_sharded ? 4 + 2 * word(2) + ((word(3) & 0x7fffffffu) + 1) / 2 : 2;
  }
  static constexpr uint32_t next_compile_time_args_offset() {
    return CTA_OFFSET + num_compile_time_args();
  }
  constexpr uint32_t num_common_runtime_args() const { return 0; }
  constexpr uint32_t next_common_runtime_args_offset() const {
    return CRTA_OFFSET == accessors::UNKNOWN ? 0 : static_cast<uint32_t>(CRTA_OFFSET);
  }
  constexpr uint32_t get_aligned_page_size() const { return AlignedPageSize; }
};

}  // namespace ttl_dataflow

#define TTL_DATAFLOW_SCOPE                                                                  \
  template <std::size_t CTA_OFFSET,                                                         \
            std::size_t CRTA_OFFSET = ttl_dataflow::accessors::UNKNOWN>               \
  using TensorAccessorArgs =                                                                \
      ttl_dataflow::TensorAccessorArgsOf<KernelArguments, CTA_OFFSET, CRTA_OFFSET>;         \
  namespace tensor_accessor::detail {                                                       \
  template <uint32_t TENSOR_IDX, uint32_t CTA_OFFSET>                                       \
  constexpr uint32_t get_tensor_accessor_args_cta_offset() {                                \
    if constexpr (TENSOR_IDX == 0) {                                                        \
      return CTA_OFFSET;                                                                    \
    } else {                                                                                \
      constexpr auto before = get_tensor_accessor_args_cta_offset<TENSOR_IDX - 1, CTA_OFFSET>(); \
      return TensorAccessorArgs<before>::next_compile_time_args_offset();                   \
    }                                                                                       \
  }                                                                                         \
  }
