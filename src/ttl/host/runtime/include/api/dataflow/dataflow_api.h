// api/dataflow/dataflow_api.h. These stand in a namespace that data movement kernels use: compute
// kernels have functions of the same names and share the translation unit.
#pragma once

#include <cstdint>

#include "api/compile_time_args.h"
#include "api/tensor/tensor_accessor.h"

#define FORCE_INLINE inline __attribute__((always_inline))

namespace ttl_dataflow {

constexpr uint32_t NOC_MAX_BURST_SIZE = 8192;
constexpr uint32_t NOC_UNICAST_WRITE_VC = 1;

namespace detail {
uint32_t argument(int index, int line);
uint32_t common_argument(int index, int line);
void read(uint64_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line);
void write(uint32_t source, uint64_t destination, uint32_t bytes, uint8_t noc, int line);
}  // namespace detail

uint8_t get_absolute_logical_x();
uint8_t get_absolute_logical_y();
uint8_t get_relative_logical_x();
uint8_t get_relative_logical_y();

template <typename T>
FORCE_INLINE T get_arg_val(int arg_idx, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4, "only 4 byte arguments are supported");
  uint32_t word = detail::argument(arg_idx, line);
  T value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

template <typename T>
FORCE_INLINE T get_common_arg_val(int arg_idx, int line = __builtin_LINE()) {
  static_assert(sizeof(T) == 4, "only 4 byte arguments are supported");
  uint32_t word = detail::common_argument(arg_idx, line);
  T value;
  __builtin_memcpy(&value, &word, 4);
  return value;
}

void cb_push_back(const int32_t operand, const int32_t num_pages, int line = __builtin_LINE());
void cb_pop_front(int32_t operand, int32_t num_pages, int line = __builtin_LINE());
void cb_reserve_back(int32_t operand, int32_t num_pages, int line = __builtin_LINE());
void cb_wait_front(int32_t operand, int32_t num_pages, int line = __builtin_LINE());
uint32_t get_write_ptr(uint32_t operand, int line = __builtin_LINE());
uint32_t get_read_ptr(uint32_t operand, int line = __builtin_LINE());

// The tile size of the data format, whatever the page size of the buffer is.
constexpr inline std::int32_t get_tile_size(const std::int32_t operand) {
  return static_cast<std::int32_t>(ttl_unit::unpack_tile_size[operand]);
}

// An address in the L1 of this node.
uint64_t get_noc_addr(uint32_t addr, uint8_t noc = own_noc);

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, bool enable_noc_tracing = true>
inline void noc_async_read(
    uint64_t src_noc_addr,
    uint32_t dst_local_l1_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint32_t read_req_vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  (void)read_req_vc;
  detail::read(src_noc_addr, dst_local_l1_addr, size, noc, line);
}

template <
    uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1,
    bool enable_noc_tracing = true,
    bool posted = false>
inline void noc_async_write(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint32_t vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  static_assert(!posted, "the host runtime does not model posted writes");
  (void)vc;
  detail::write(src_local_l1_addr, dst_noc_addr, size, noc, line);
}

template <typename AddrGen, bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read_page(
    const uint32_t id,
    const AddrGen& addrgen,
    uint32_t dst_local_l1_addr,
    uint32_t offset = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  const uint64_t source = addrgen.get_noc_addr(id, offset, noc, line);
  detail::read(source, dst_local_l1_addr, addrgen.get_aligned_page_size(), noc, line);
}

template <typename AddrGen, bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write_page(
    const uint32_t id,
    const AddrGen& addrgen,
    uint32_t src_local_l1_addr,
    uint32_t size = 0,
    uint32_t offset = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  static_assert(!posted, "the host runtime does not model posted writes");
  const uint64_t destination = addrgen.get_noc_addr(id, offset, noc, line);
  const uint32_t bytes = size ? size : addrgen.get_aligned_page_size();
  detail::write(src_local_l1_addr, destination, bytes, noc, line);
}

void noc_async_read_barrier(uint8_t noc = own_noc, int line = __builtin_LINE());
void noc_async_write_barrier(uint8_t noc = own_noc, int line = __builtin_LINE());
void noc_async_writes_flushed(uint8_t noc = own_noc, int line = __builtin_LINE());

}  // namespace ttl_dataflow
