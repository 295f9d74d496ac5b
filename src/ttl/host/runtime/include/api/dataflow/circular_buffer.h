// api/dataflow/circular_buffer.h, for data movement and for compute kernels.
#pragma once

#include "api/compute/cb_api.h"
#include "api/dataflow/dataflow_api.h"

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

}  // namespace ttl_dataflow

namespace ckernel {
using CircularBuffer = ttl_kernel::BufferEnds;
}
