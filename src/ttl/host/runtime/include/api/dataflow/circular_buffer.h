// api/dataflow/circular_buffer.h, for data movement and for compute kernels.
#pragma once

#include "api/compute/cb_api.h"
#include "api/dataflow/noc.h"

namespace ttl_kernel {

class BufferEnds {
 public:
  explicit BufferEnds(uint32_t cb_id) : cb_id_(cb_id) {}
  uint32_t get_cb_id() const { return cb_id_; }
  void reserve_back(int32_t num_pages, int line = __builtin_LINE()) {
    cb_reserve_back(cb_id_, static_cast<uint32_t>(num_pages), line);
  }
  void push_back(int32_t num_pages, int line = __builtin_LINE()) {
    cb_push_back(cb_id_, static_cast<uint32_t>(num_pages), line);
  }
  void wait_front(int32_t num_pages, int line = __builtin_LINE()) {
    cb_wait_front(cb_id_, static_cast<uint32_t>(num_pages), line);
  }
  void pop_front(int32_t num_pages, int line = __builtin_LINE()) {
    cb_pop_front(cb_id_, static_cast<uint32_t>(num_pages), line);
  }

 protected:
  uint32_t cb_id_;
};

}  // namespace ttl_kernel

namespace ttl_dataflow {

class CircularBuffer : public ttl_kernel::BufferEnds {
 public:
  enum class AddrSelector { WRITE_PTR, READ_PTR };

  using BufferEnds::BufferEnds;
  uint32_t get_tile_size() const {
    return static_cast<uint32_t>(ttl_dataflow::get_tile_size(static_cast<int32_t>(cb_id_)));
  }
  bool pages_reservable_at_back(int32_t num_pages, int line = __builtin_LINE()) const {
    return cb_pages_reservable_at_back(cb_id_, static_cast<uint32_t>(num_pages), line);
  }
  bool pages_available_at_front(int32_t num_pages, int line = __builtin_LINE()) const {
    return cb_pages_available_at_front(cb_id_, static_cast<uint32_t>(num_pages), line);
  }
  uint32_t get_write_ptr(int line = __builtin_LINE()) const {
    return ttl_dataflow::get_write_ptr(cb_id_, line);
  }
  uint32_t get_read_ptr(int line = __builtin_LINE()) const {
    return ttl_dataflow::get_read_ptr(cb_id_, line);
  }
};

// A buffer at one of its pointers, whichever way the transfer goes.
template <CircularBuffer::AddrSelector AddrSel>
struct CircularBufferView {
  const CircularBuffer& cb;
  explicit constexpr CircularBufferView(const CircularBuffer& c) : cb(c) {}
};

template <CircularBuffer::AddrSelector AddrSel>
constexpr auto use(const CircularBuffer& cb) {
  return CircularBufferView<AddrSel>(cb);
}

namespace objects {

// Sources are read where the buffer is read, destinations written where it is written.
template <typename Buffer, CircularBuffer::AddrSelector source_end,
          CircularBuffer::AddrSelector target_end>
struct BufferTraits {
  using src_args_type = OffsetInObject;
  using dst_args_type = OffsetInObject;
  using dst_args_mcast_type = NocRectangle;

  static const CircularBuffer& buffer_of(const CircularBuffer& buffer) { return buffer; }
  template <CircularBuffer::AddrSelector end>
  static const CircularBuffer& buffer_of(const CircularBufferView<end>& view) {
    return view.cb;
  }
  template <CircularBuffer::AddrSelector end>
  static uint32_t start_of(const Buffer& buffer) {
    const CircularBuffer& cb = buffer_of(buffer);
    return end == CircularBuffer::AddrSelector::READ_PTR ? cb.get_read_ptr() : cb.get_write_ptr();
  }

  template <Noc::AddressType type>
  static uint32_t src_addr(const Buffer& src, const Noc&, const src_args_type& args) {
    static_assert(type == Noc::AddressType::LOCAL_L1, "it can only be L1 of this node");
    return start_of<source_end>(src) + args.offset_bytes;
  }
  template <Noc::AddressType type>
  static uint32_t dst_addr(const Buffer& dst, const Noc&, const dst_args_type& args) {
    static_assert(type == Noc::AddressType::LOCAL_L1, "it can only be L1 of this node");
    return start_of<target_end>(dst) + args.offset_bytes;
  }
  template <Noc::AddressType type>
  static uint64_t dst_addr_mcast(
      const Buffer& dst, const Noc& noc, const dst_args_mcast_type& args) {
    static_assert(type == Noc::AddressType::NOC, "a rectangle is not L1 of this node");
    return get_noc_multicast_addr(args.noc_x_start, args.noc_y_start, args.noc_x_end,
                                  args.noc_y_end, start_of<target_end>(dst) + args.offset_bytes,
                                  noc.get_noc_id());
  }
};

}  // namespace objects

template <>
struct noc_traits_t<CircularBuffer>
    : objects::BufferTraits<CircularBuffer, CircularBuffer::AddrSelector::READ_PTR,
                            CircularBuffer::AddrSelector::WRITE_PTR> {};

template <CircularBuffer::AddrSelector AddrSel>
struct noc_traits_t<CircularBufferView<AddrSel>>
    : objects::BufferTraits<CircularBufferView<AddrSel>, AddrSel, AddrSel> {};

}  // namespace ttl_dataflow

namespace ckernel {
using CircularBuffer = ttl_kernel::BufferEnds;
}
