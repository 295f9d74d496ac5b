// Every node writes what it received, after what the nodes before it write.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    const uint32_t first = get_arg_val<uint32_t>(1);
    constexpr uint32_t cb = tt::CBIndex::c_0;
    constexpr auto out_args = TensorAccessorArgs<4>();
    const auto out = TensorAccessor(out_args, get_common_arg_val<uint32_t>(0));
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_wait_front(cb, 1);
        noc_async_write_page(first + i, out, get_read_ptr(cb));
        noc_async_write_barrier();
        cb_pop_front(cb, 1);
    }
}
