// internal/dataflow/dataflow_api_addrgen.h: tensors by address and page size, and banks of DRAM.
#pragma once

#include "api/tensor/tensor_accessor.h"
#include "tensix_types.h"

namespace ttl_dataflow {

namespace accessors {

uint64_t bank_address(uint32_t bank, uint32_t address, uint32_t banks, int line);

constexpr uint32_t tile_bytes(DataFormat format, uint32_t tile_hw) {
  switch (format) {
    case DataFormat::UInt8:
      return tile_hw;
    case DataFormat::UInt16:
    case DataFormat::Float16:
    case DataFormat::Float16_b:
      return 2 * tile_hw;
    case DataFormat::Int32:
    case DataFormat::UInt32:
    case DataFormat::Float32:
      return 4 * tile_hw;
    case DataFormat::Bfp4_b:
      return tile_hw / 2 + tile_hw / 16;
    default:
      return tile_hw + tile_hw / 16;
  }
}

}  // namespace accessors

template <bool DRAM>
inline uint64_t get_noc_addr_from_bank_id(
    uint32_t bank_id, uint32_t bank_address_offset, uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  static_assert(DRAM, "the host runtime does not know which node is which bank of L1");
  return accessors::bank_address(bank_id, bank_address_offset, ttl_unit::dram_banks, line);
}

// Deprecated in 0.81, as is InterleavedAddrGenFast.
template <bool DRAM>
struct InterleavedAddrGen {
  static constexpr bool is_dram = DRAM;
  static constexpr uint32_t alignment = DRAM ? ttl_unit::dram_alignment : ttl_unit::l1_alignment;
  uint32_t bank_base_address;
  const uint32_t page_size;
  const uint32_t aligned_page_size = (page_size + alignment - 1) / alignment * alignment;

  uint64_t get_noc_addr(const uint32_t id, const uintptr_t offset = 0, uint8_t noc = own_noc,
                        int line = __builtin_LINE()) const {
    return accessors::page_address(bank_base_address, aligned_page_size, DRAM, id,
                                   static_cast<uint32_t>(offset), line);
  }
};

template <bool DRAM, uint32_t tile_hw = 1024>
struct InterleavedAddrGenFast {
  static_assert(tile_hw == 1024, "the host runtime has tiles of 32 x 32 only");
  static constexpr bool is_dram = DRAM;
  uint32_t bank_base_address;
  uint32_t page_size;
  DataFormat data_format;

  uint64_t get_noc_addr(const uint32_t id, const uint32_t offset = 0, uint8_t noc = own_noc,
                        int line = __builtin_LINE()) const {
    const uint32_t bytes = accessors::tile_bytes(data_format, tile_hw);
    return accessors::page_address(bank_base_address, bytes, DRAM, id, offset, line);
  }
};

namespace accessors {

// What noc_async_read_page and noc_async_write_page move.
template <typename AddrGen>
inline uint32_t page_bytes_of(const AddrGen& addrgen) {
  return addrgen.page_size;
}
template <typename DSpec>
inline uint32_t page_bytes_of(const TensorAccessor<DSpec>& addrgen) {
  return addrgen.get_aligned_page_size();
}

}  // namespace accessors

}  // namespace ttl_dataflow
