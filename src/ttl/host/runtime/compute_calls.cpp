// api/compute/cb_api.h: how compute kernels ask for what circular buffers hold.
#include "buffers.h"

#include "api/compute/cb_api.h"

volatile uint32_t* get_cb_tiles_received_ptr(uint32_t cb) {
  return &ttl_host::buffer_at(ttl_host::self(), cb, 0).pushed;
}

volatile uint32_t* get_cb_tiles_acked_ptr(uint32_t cb) {
  return &ttl_host::buffer_at(ttl_host::self(), cb, 0).popped;
}

namespace ckernel {

uint32_t reg_read(uintptr_t address, int line) {
  ttl_host::let_others_run(ttl_host::self(line), line);
  return *reinterpret_cast<volatile uint32_t*>(address);
}

void mailbox_write(ThreadId, uint32_t word) { ttl_host::self().node->mailbox = word; }

uint32_t mailbox_read(ThreadId) { return ttl_host::self().node->mailbox; }

}  // namespace ckernel
