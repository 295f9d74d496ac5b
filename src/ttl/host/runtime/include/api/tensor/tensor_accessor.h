// api/tensor/tensor_accessor.h. Whether a tensor is sharded changes where its pages lie on the chip;
// here they are one after the other all the same.
#pragma once

#include "api/tensor/tensor_accessor_args.h"

namespace ttl_dataflow {

// Stands for the NoC of the kernel that calls: 0 for the reader, 1 for the writer.
constexpr uint8_t own_noc = 0xFF;

namespace accessors {

template <bool IsDram>
struct InterleavedSpec {
  static constexpr bool is_dram = IsDram;
};

uint64_t page_address(
    uint32_t base, uint32_t page_bytes, bool is_dram, uint32_t page, uint32_t offset, int line);

}  // namespace accessors

template <typename DSpecT>
struct TensorAccessor {
  using DSpec = DSpecT;
  static constexpr bool is_dram = DSpec::is_dram;

  template <typename Arguments, std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET>
  TensorAccessor(
      const TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>&,
      const uint32_t bank_base_address_in,
      const uint32_t page_size_in =
          TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>::AlignedPageSize)
      : bank_base_address(bank_base_address_in), page_size(page_size_in) {}

  uint32_t get_aligned_page_size() const { return page_size; }
  uint32_t get_bank_base_address() const { return bank_base_address; }

  uint64_t get_noc_addr(
      const uint32_t id,
      const uint32_t offset = 0,
      uint8_t noc = own_noc,
      int line = __builtin_LINE()) const {
    (void)noc;  // a tensor has the same address on both
    return accessors::page_address(bank_base_address, page_size, is_dram, id, offset, line);
  }

  uint32_t bank_base_address;
  uint32_t page_size;
};

template <typename Arguments, std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET>
TensorAccessor(const TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>&, std::size_t)
    -> TensorAccessor<accessors::InterleavedSpec<
        TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>::is_dram>>;

template <typename Arguments, std::size_t CTA_OFFSET, std::size_t CRTA_OFFSET>
TensorAccessor(
    const TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>&, std::size_t, uint32_t)
    -> TensorAccessor<accessors::InterleavedSpec<
        TensorAccessorArgsOf<Arguments, CTA_OFFSET, CRTA_OFFSET>::is_dram>>;

}  // namespace ttl_dataflow
