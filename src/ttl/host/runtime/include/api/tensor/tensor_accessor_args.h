// api/tensor/tensor_accessor_args.h, for interleaved tensors: two compile-time words, the kind
// (0 in L1, 2 in DRAM) and the aligned page bytes.
#pragma once

#include <cstddef>
#include <cstdint>

#include "api/compile_time_args.h"

namespace ttl_dataflow {

namespace tensor_accessor {
constexpr std::size_t UNKNOWN = static_cast<std::size_t>(-1);
}

// A kernel sees this as TensorAccessorArgs<CTA_OFFSET, CRTA_OFFSET>, with its own arguments.
template <typename Arguments, std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET>
struct TensorAccessorArgsOf {
  static_assert(CTA_OFFSET + 1 < Arguments::size, "Index out of range");
  static constexpr uint32_t kind = Arguments::values[CTA_OFFSET];
  static_assert(kind == 0 || kind == 2, "the host runtime knows interleaved tensors only");
  static constexpr bool is_sharded = false;
  static constexpr bool is_dram = kind == 2;
  static constexpr uint32_t AlignedPageSize = Arguments::values[CTA_OFFSET + 1];

  static constexpr uint32_t num_compile_time_args() { return 2; }
  static constexpr uint32_t next_compile_time_args_offset() { return CTA_OFFSET + 2; }
  constexpr uint32_t num_common_runtime_args() const { return 0; }
  constexpr uint32_t next_common_runtime_args_offset() const {
    return CRTA_OFFSET == tensor_accessor::UNKNOWN ? 0 : static_cast<uint32_t>(CRTA_OFFSET);
  }
  constexpr uint32_t get_aligned_page_size() const { return AlignedPageSize; }
};

}  // namespace ttl_dataflow

#define TTL_DATAFLOW_SCOPE                                                                  \
  template <std::size_t CTA_OFFSET,                                                         \
            std::size_t CRTA_OFFSET = ttl_dataflow::tensor_accessor::UNKNOWN>               \
  using TensorAccessorArgs =                                                                \
      ttl_dataflow::TensorAccessorArgsOf<KernelArguments, CTA_OFFSET, CRTA_OFFSET>;
