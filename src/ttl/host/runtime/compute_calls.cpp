// Calls of compute kernels that are not about tiles: buffers, arguments, position.
#include "arguments.h"
#include "buffers.h"

#include "api/compute/cb_api.h"
#include "api/compute/common.h"

namespace ckernel {

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
