// Copies a tensor by way of L1, two pages in flight, each with a transaction id of its own.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
    const uint32_t pages = get_arg_val<uint32_t>(0);
    constexpr uint32_t cb = tt::CBIndex::c_0;
    constexpr auto in_args = TensorAccessorArgs<1>();
    constexpr auto out_args = TensorAccessorArgs<in_args.next_compile_time_args_offset()>();
    const auto in = TensorAccessor(in_args, get_common_arg_val<uint32_t>(0));
    const auto out = TensorAccessor(out_args, get_common_arg_val<uint32_t>(1));
    cb_reserve_back(cb, 2);
    const uint32_t l1 = get_write_ptr(cb);
    const uint32_t bytes = get_tile_size(cb);
    for (uint32_t page = 0; page < pages; ++page) {
        const uint32_t slot = page % 2;
        if (page == 0) {
            noc_async_read_set_trid(1);
            noc_async_read_page(0, in, l1);
        }
        if (page + 1 < pages) {
            const uint32_t next = (page + 1) % 2;
            noc_async_write_barrier_with_trid(next + 1);
            noc_async_read_set_trid(next + 1);
            noc_async_read_page(page + 1, in, l1 + next * bytes);
        }
        noc_async_read_barrier_with_trid(slot + 1);
        noc_async_write_set_trid(slot + 1);
        noc_async_write_page(page, out, l1 + slot * bytes);
    }
    noc_async_read_set_trid(0);
    noc_async_write_set_trid(0);
    noc_async_write_barrier();
    noc_async_read_barrier();
}
