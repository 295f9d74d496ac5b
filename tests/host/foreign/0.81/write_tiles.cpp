// Writes the tiles of c_16 to the last tensor. Argument: how many.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    constexpr uint32_t cb = tt::CBIndex::c_16;
    constexpr auto args = TensorAccessorArgs<11>();
    const auto out = TensorAccessor(args, get_common_arg_val<uint32_t>(0));
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_wait_front(cb, 1);
        noc_async_write_page(i, out, get_read_ptr(cb));
        noc_async_write_barrier();
        cb_pop_front(cb, 1);
    }
}
