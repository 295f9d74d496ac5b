// Calls of compute kernels that are not about tiles: buffers, arguments, position.
#include "arguments.h"
#include "buffers.h"

#include "api/compute/cb_api.h"
#include "api/compute/common.h"

// api/compute/cb_api.h
volatile uint32_t* get_cb_tiles_received_ptr(uint32_t cb) {
  return &ttl_host::buffer_at(ttl_host::self(), cb, 0).pushed;
}

// api/compute/cb_api.h
volatile uint32_t* get_cb_tiles_acked_ptr(uint32_t cb) {
  return &ttl_host::buffer_at(ttl_host::self(), cb, 0).popped;
}

namespace ckernel {

// api/compute/cb_api.h
uint32_t reg_read(uintptr_t address, int line) {
  ttl_host::let_others_run(ttl_host::self(line), line);
  return *reinterpret_cast<volatile uint32_t*>(address);
}

// Nothing runs between the write and the reads: one word for all kernels is enough.
static uint32_t mailbox;

// api/compute/cb_api.h
void mailbox_write(ThreadId, uint32_t word) { mailbox = word; }

// api/compute/cb_api.h
uint32_t mailbox_read(ThreadId) { return mailbox; }

// api/compute/cb_api.h
void cb_wait_front(uint32_t cbid, uint32_t ntiles, int line) {
  ttl_host::wait_front(cbid, ntiles, line);
}

// api/compute/cb_api.h
void cb_pop_front(uint32_t cbid, uint32_t ntiles, int line) {
  ttl_host::pop_front(cbid, ntiles, line);
}

// api/compute/cb_api.h
void cb_reserve_back(uint32_t cbid, uint32_t ntiles, int line) {
  ttl_host::reserve_back(cbid, ntiles, line);
}

// api/compute/cb_api.h
void cb_push_back(uint32_t cbid, uint32_t ntiles, int line) {
  ttl_host::push_back(cbid, ntiles, line);
}

namespace detail {

// api/compute/common.h: get_arg_val
uint32_t argument(int index, int line) { return ttl_host::runtime_argument(index, line); }

// api/compute/common.h: get_common_arg_val
uint32_t common_argument(int index, int line) {
  return ttl_host::common_runtime_argument(index, line);
}

}  // namespace detail

// api/compute/common.h
uint8_t get_absolute_logical_x() { return static_cast<uint8_t>(ttl_host::self().node->x); }

// api/compute/common.h
uint8_t get_absolute_logical_y() { return static_cast<uint8_t>(ttl_host::self().node->y); }

// api/compute/common.h: relative to the sub-device, which is the whole chip here.
uint8_t get_relative_logical_x() { return get_absolute_logical_x(); }

// api/compute/common.h
uint8_t get_relative_logical_y() { return get_absolute_logical_y(); }

}  // namespace ckernel
