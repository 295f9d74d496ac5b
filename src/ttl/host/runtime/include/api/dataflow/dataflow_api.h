// api/dataflow/dataflow_api.h. These stand in a namespace that data movement kernels use: compute
// kernels have functions of the same names and share the translation unit.
#pragma once

#include <cstdint>

#include "api/compile_time_args.h"
#include "api/debug/dprint.h"
#include "api/debug/kernel_profiler.hpp"
#include "api/tensor/tensor_accessor.h"
#include "hostdevcommon/common_values.hpp"
#include "hostdevcommon/kernel_calls.h"
#include "hostdevcommon/kernel_structs.h"
#include "internal/dataflow/dataflow_api_addrgen.h"

#define FORCE_INLINE inline __attribute__((always_inline))
#define tt_l1_ptr
#define tt_reg_ptr

enum class InlineWriteDst : uint8_t { DEFAULT = 0, L1 = 1, REG = 2 };
enum class ProgrammableCoreType : uint8_t { TENSIX = 0, ACTIVE_ETH = 1, IDLE_ETH = 2 };

namespace ttl_dataflow {

constexpr uint32_t NOC_MAX_BURST_SIZE = ttl_unit::burst_bytes;
constexpr uint32_t NOC_UNICAST_WRITE_VC = 1;
constexpr uint32_t NOC_MULTICAST_WRITE_VC = 4;
constexpr uint32_t L1_ALIGNMENT = ttl_unit::l1_alignment;
constexpr uint32_t DRAM_ALIGNMENT = ttl_unit::dram_alignment;

namespace detail {
void read(uint64_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line);
void write(uint32_t source, uint64_t destination, uint32_t bytes, uint8_t noc, int line);
void check_packet(uint32_t bytes, uint32_t most, int line);
void set_read_state(uint64_t source, uint32_t bytes, uint8_t noc, int line);
void read_with_state(
    uint32_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line);
void set_write_state(uint64_t destination, uint32_t bytes, uint8_t noc, int line);
void write_with_state(
    uint32_t source, uint32_t destination, uint32_t bytes, uint8_t noc, int line);
void write_with_transaction(
    uint32_t source, uint64_t destination, uint32_t bytes, uint32_t id, uint8_t noc, int line);
void write_multicast(
    uint32_t source,
    uint64_t destination,
    uint32_t bytes,
    uint32_t receivers,
    bool with_sender,
    uint8_t noc,
    int line);
void increment(uint64_t destination, uint32_t value, uint8_t noc, int line);
void increment_multicast(
    uint64_t destination, uint32_t value, uint32_t receivers, uint8_t noc, int line);
void write_word(uint64_t destination, uint32_t value, uint8_t noc, int line);
uintptr_t semaphore_address(uint32_t id, int line);
uint8_t virtual_column(uint32_t x);
uint8_t virtual_row(uint32_t y);
uint8_t own_column(uint32_t noc);
uint8_t own_row(uint32_t noc);
uint8_t number_of_own_noc();
}  // namespace detail

using namespace ttl_kernel;  // all of them

// firmware_common.h: arrays on the chip
template <uint8_t (*coordinate)(uint32_t)>
struct Coordinates {
  uint8_t operator[](uint32_t number) const { return coordinate(number); }
};
constexpr Coordinates<detail::virtual_column> worker_logical_col_to_virtual_col{};
constexpr Coordinates<detail::virtual_row> worker_logical_row_to_virtual_row{};
constexpr Coordinates<detail::own_column> my_x{};
constexpr Coordinates<detail::own_row> my_y{};

struct coord_t {
  uint8_t x, y;
};

FORCE_INLINE coord_t
get_virtual_coord_from_worker_logical_coord(uint8_t worker_x, uint8_t worker_y) {
  return {detail::virtual_column(worker_x), detail::virtual_row(worker_y)};
}

uint32_t get_write_ptr(uint32_t operand, int line = __builtin_LINE());
uint32_t get_read_ptr(uint32_t operand, int line = __builtin_LINE());

// The tile size of the data format, whatever the page size of the buffer is.
constexpr inline std::int32_t get_tile_size(const std::int32_t operand) {
  return static_cast<std::int32_t>(ttl_unit::unpack_tile_size[operand]);
}

constexpr inline uint32_t get_tile_hw(const std::int32_t operand) {
  return 1024;
}

// An address in the L1 of this node, of another one, of all in a rectangle.
uint64_t get_noc_addr(uint32_t addr, uint8_t noc = own_noc);
uint64_t get_noc_addr(uint32_t noc_x, uint32_t noc_y, uint32_t addr, uint8_t noc = own_noc);
uint64_t get_noc_multicast_addr(
    uint32_t noc_x_start,
    uint32_t noc_y_start,
    uint32_t noc_x_end,
    uint32_t noc_y_end,
    uint32_t addr,
    uint8_t noc = own_noc);

// The same in the words of the chip's registers; kernels use virtual coordinates on both NoCs.
#define DYNAMIC_NOC_X(noc, x) (x)
#define DYNAMIC_NOC_Y(noc, y) (y)
#define NOC_MULTICAST_ADDR(x_start, y_start, x_end, y_end, addr) \
  ttl_dataflow::get_noc_multicast_addr(x_start, y_start, x_end, y_end, addr)

template <typename AddrGen, typename = decltype(&AddrGen::get_noc_addr)>
FORCE_INLINE uint64_t get_noc_addr(
    const uint32_t id,
    const AddrGen& addrgen,
    uint32_t offset = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  return addrgen.get_noc_addr(id, offset, noc, line);
}

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1, bool enable_noc_tracing = true>
inline void noc_async_read(
    uint64_t src_noc_addr,
    uint32_t dst_local_l1_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint32_t read_req_vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, src_noc_addr, size);
  detail::read(src_noc_addr, dst_local_l1_addr, size, noc, line);
}

template <bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_read_one_packet(
    uint64_t src_noc_addr,
    uint32_t dst_local_l1_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint32_t read_req_vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, src_noc_addr, size);
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::read(src_noc_addr, dst_local_l1_addr, size, noc, line);
}

template <bool use_vc = false>
FORCE_INLINE void noc_async_read_one_packet_set_state(
    uint64_t src_noc_addr,
    uint32_t size,
    const uint32_t vc = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, src_noc_addr, size);
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::set_read_state(src_noc_addr, size, noc, line);
}

template <bool inc_num_issued = true, bool use_vc = false>
FORCE_INLINE void noc_async_read_one_packet_with_state(
    uint32_t src_local_l1_addr,
    uint32_t dst_local_l1_addr,
    const uint32_t vc = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_ORDERS(line, 0);
  detail::read_with_state(src_local_l1_addr, dst_local_l1_addr, 0, noc, line);
}

FORCE_INLINE void noc_async_read_set_state(
    uint64_t src_noc_addr, uint8_t noc = own_noc, int line = __builtin_LINE()) {
  TTL_MOVES(line, src_noc_addr, 0);
  detail::set_read_state(src_noc_addr, 0, noc, line);
}

template <bool inc_num_issued = true, bool skip_cmdbuf_chk = false>
FORCE_INLINE void noc_async_read_with_state(
    uint32_t src_local_l1_addr,
    uint32_t dst_local_l1_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_ORDERS(line, 0);
  detail::read_with_state(src_local_l1_addr, dst_local_l1_addr, size, noc, line);
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
  TTL_MOVES(line, dst_noc_addr, size);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::write(src_local_l1_addr, dst_noc_addr, size, noc, line);
}

template <bool enable_noc_tracing = true, bool posted = false>
FORCE_INLINE void noc_async_write_one_packet(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint32_t vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, dst_noc_addr, size);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::write(src_local_l1_addr, dst_noc_addr, size, noc, line);
}

template <bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_set_state(
    uint64_t dst_noc_addr,
    uint32_t size,
    uint8_t noc = own_noc,
    uint8_t vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, dst_noc_addr, size);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::set_write_state(dst_noc_addr, size, noc, line);
}

template <bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_state(
    uint32_t src_local_l1_addr,
    uint32_t dst_local_l1_addr,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_ORDERS(line, 0);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::write_with_state(src_local_l1_addr, dst_local_l1_addr, 0, noc, line);
}

template <bool update_counter = true, bool posted = false>
FORCE_INLINE void noc_async_write_one_packet_with_trid(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr,
    uint32_t size,
    uint32_t trid,
    uint8_t cmd_buf = 0,
    uint8_t noc = own_noc,
    uint8_t vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, dst_noc_addr, size);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::write_with_transaction(src_local_l1_addr, dst_noc_addr, size, trid, noc, line);
}

template <uint32_t max_page_size = NOC_MAX_BURST_SIZE + 1>
inline void noc_async_write_multicast(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr_multicast,
    uint32_t size,
    uint32_t num_dests,
    bool linked = false,
    uint8_t noc = own_noc,
    uint8_t vc = NOC_MULTICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_MOVES_TO(line, dst_noc_addr_multicast, size, num_dests);
  detail::write_multicast(
      src_local_l1_addr, dst_noc_addr_multicast, size, num_dests, false, noc, line);
}

template <bool enable_noc_tracing = true>
FORCE_INLINE void noc_async_write_multicast_one_packet(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr_multicast,
    uint32_t size,
    uint32_t num_dests,
    bool linked = false,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_MOVES_TO(line, dst_noc_addr_multicast, size, num_dests);
  detail::check_packet(size, NOC_MAX_BURST_SIZE, line);
  detail::write_multicast(
      src_local_l1_addr, dst_noc_addr_multicast, size, num_dests, false, noc, line);
}

inline void noc_async_write_multicast_loopback_src(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr_multicast,
    uint32_t size,
    uint32_t num_dests,
    bool linked = false,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_MOVES_TO(line, dst_noc_addr_multicast, size, num_dests);
  detail::write_multicast(
      src_local_l1_addr, dst_noc_addr_multicast, size, num_dests, true, noc, line);
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
  TTL_MOVES(line, source, accessors::page_bytes_of(addrgen));
  detail::read(source, dst_local_l1_addr, accessors::page_bytes_of(addrgen), noc, line);
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
  const uint32_t bytes = size ? size : accessors::page_bytes_of(addrgen);
  TTL_MOVES(line, destination, bytes);
  detail::write(src_local_l1_addr, destination, bytes, noc, line);
}

// Deprecated in 0.81.
template <typename AddrGen>
FORCE_INLINE void noc_async_read_tile(
    const uint32_t id,
    const AddrGen& addrgen,
    uint32_t dst_local_l1_addr,
    uint32_t offset = 0,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, addrgen.get_noc_addr(id), accessors::page_bytes_of(addrgen));
  noc_async_read_page(id, addrgen, dst_local_l1_addr, offset, noc, line);
}

// Deprecated in 0.81.
template <typename AddrGen>
FORCE_INLINE void noc_async_write_tile(
    const uint32_t id,
    const AddrGen& addrgen,
    uint32_t src_local_l1_addr,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, addrgen.get_noc_addr(id), accessors::page_bytes_of(addrgen));
  noc_async_write_page(id, addrgen, src_local_l1_addr, 0, 0, noc, line);
}

#define TTL_BARRIER(name)                                                          \
  namespace detail { void name(uint8_t noc, int line); }                           \
  FORCE_INLINE void name(uint8_t noc = own_noc, int line = __builtin_LINE()) {     \
    TTL_ORDERS(line, 0);                                                           \
    detail::name(noc, line);                                                       \
  }
#define TTL_WITH_ID(name, ...)                                                              \
  namespace detail { void name(uint32_t trid, uint8_t noc, int line); }                     \
  FORCE_INLINE void name(                                                                   \
      uint32_t trid __VA_ARGS__, uint8_t noc = own_noc, int line = __builtin_LINE()) {      \
    TTL_ORDERS(line, trid);                                                                 \
    detail::name(trid, noc, line);                                                          \
  }

TTL_BARRIER(noc_async_read_barrier)
TTL_BARRIER(noc_async_write_barrier)
TTL_BARRIER(noc_async_writes_flushed)
TTL_BARRIER(noc_async_atomic_barrier)
TTL_BARRIER(noc_async_full_barrier)

TTL_WITH_ID(noc_async_read_set_trid, = 0)
TTL_WITH_ID(noc_async_write_set_trid, = 0)
TTL_WITH_ID(noc_async_read_barrier_with_trid)
TTL_WITH_ID(noc_async_write_barrier_with_trid)
TTL_WITH_ID(noc_async_write_flushed_with_trid)

// There is no time here: others run.
void riscv_wait(uint32_t cycles, int line = __builtin_LINE());

void invalidate_l1_cache(int line = __builtin_LINE());

template <ProgrammableCoreType type = ProgrammableCoreType::TENSIX>
FORCE_INLINE uintptr_t get_semaphore(uint32_t semaphore_id, int line = __builtin_LINE()) {
  return detail::semaphore_address(semaphore_id, line);
}

#define TTL_OF_OWN_SEMAPHORE(name)                                                            \
  namespace detail { void name(volatile uint32_t* word, uint32_t value, int line); }          \
  FORCE_INLINE void name(                                                                     \
      volatile tt_l1_ptr uint32_t* sem_addr, uint32_t val, int line = __builtin_LINE()) {     \
    TTL_SIGNALS_HERE(line, sem_addr, val);                                                    \
    detail::name(sem_addr, val, line);                                                        \
  }

TTL_OF_OWN_SEMAPHORE(noc_semaphore_wait)
TTL_OF_OWN_SEMAPHORE(noc_semaphore_wait_min)
TTL_OF_OWN_SEMAPHORE(noc_semaphore_set)

template <bool posted = false>
FORCE_INLINE void noc_semaphore_inc(
    uint64_t addr,
    uint32_t incr,
    uint8_t noc_id = own_noc,
    uint8_t vc = NOC_UNICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_SIGNALS(line, addr, incr);
  static_assert(!posted, "the host runtime does not model posted increments");
  detail::increment(addr, incr, noc_id, line);
}

template <bool posted = false>
FORCE_INLINE void noc_semaphore_inc_multicast(
    uint64_t addr,
    uint32_t incr,
    uint32_t num_dests,
    uint8_t noc_id = own_noc,
    uint8_t vc = NOC_MULTICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_SIGNALS(line, addr, incr);
  static_assert(!posted, "the host runtime does not model posted increments");
  detail::increment_multicast(addr, incr, num_dests, noc_id, line);
}

inline void noc_semaphore_set_remote(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_SIGNALS(line, dst_noc_addr, ttl_calls::word_at(src_local_l1_addr, line));
  detail::write(src_local_l1_addr, dst_noc_addr, 4, noc, line);
}

inline void noc_semaphore_set_multicast(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr_multicast,
    uint32_t num_dests,
    bool linked = false,
    uint8_t noc = own_noc,
    uint8_t vc = NOC_MULTICAST_WRITE_VC,
    int line = __builtin_LINE()) {
  TTL_SIGNALS(line, dst_noc_addr_multicast, ttl_calls::word_at(src_local_l1_addr, line));
  detail::write_multicast(
      src_local_l1_addr, dst_noc_addr_multicast, 4, num_dests, false, noc, line);
}

inline void noc_semaphore_set_multicast_loopback_src(
    uint32_t src_local_l1_addr,
    uint64_t dst_noc_addr_multicast,
    uint32_t num_dests,
    bool linked = false,
    uint8_t noc = own_noc,
    int line = __builtin_LINE()) {
  TTL_SIGNALS(line, dst_noc_addr_multicast, ttl_calls::word_at(src_local_l1_addr, line));
  detail::write_multicast(
      src_local_l1_addr, dst_noc_addr_multicast, 4, num_dests, true, noc, line);
}

template <
    InlineWriteDst dst_type = InlineWriteDst::DEFAULT,
    bool posted = false,
    bool flush = true>
FORCE_INLINE void noc_inline_dw_write(
    uint64_t addr,
    uint32_t val,
    uint8_t be = 0xF,
    uint8_t noc = own_noc,
    uint8_t vc = NOC_UNICAST_WRITE_VC,
    uint32_t customized_src_addr = 0,
    int line = __builtin_LINE()) {
  TTL_MOVES(line, addr, 4);
  static_assert(!posted, "the host runtime does not model posted writes");
  detail::write_word(addr, val, noc, line);
}

}  // namespace ttl_dataflow
