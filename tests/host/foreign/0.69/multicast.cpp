// Node (0, 0) reads a tensor tile by tile and sends each to all nodes, itself among them. Receivers
// say by semaphore 0 that they are ready; the sender says by semaphore 1 which tile has come.
#include <cstdint>
#include "api/dataflow/dataflow_api.h"
#include "experimental/circular_buffer.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    const uint32_t last_x = get_arg_val<uint32_t>(1);
    const uint32_t last_y = get_arg_val<uint32_t>(2);
    const uint32_t nodes = (last_x + 1) * (last_y + 1);
    constexpr uint32_t cb_tile = tt::CBIndex::c_0;
    constexpr uint32_t cb_word = tt::CBIndex::c_1;
    constexpr auto in_args = TensorAccessorArgs<2>();
    const auto in = TensorAccessor(in_args, get_common_arg_val<uint32_t>(0));
    const bool sends = get_absolute_logical_x() == 0 && get_absolute_logical_y() == 0;
    const uint32_t ready = get_semaphore(0);
    const uint32_t arrived = get_semaphore(1);
    const uint32_t x0 = worker_logical_col_to_virtual_col[0];
    const uint32_t y0 = worker_logical_row_to_virtual_row[0];
    const uint32_t x1 = worker_logical_col_to_virtual_col[last_x];
    const uint32_t y1 = worker_logical_row_to_virtual_row[last_y];
    cb_reserve_back(cb_word, 1);
    const uint32_t word = get_write_ptr(cb_word);
    const uint32_t staging = word + 2048;
    volatile tt_l1_ptr uint32_t* count = reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)word);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_reserve_back(cb_tile, 1);
        noc_semaphore_inc(get_noc_addr(x0, y0, ready), 1);
        noc_async_atomic_barrier();
        if (sends) {
            noc_async_read_tile(i, in, staging);
            noc_async_read_barrier();
            noc_semaphore_wait_min(
                reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)ready), (i + 1) * nodes);
            const uint64_t to = get_noc_multicast_addr(x0, y0, x1, y1, get_write_ptr(cb_tile));
            noc_async_write_multicast_loopback_src(staging, to, get_tile_size(cb_tile), nodes);
            noc_async_write_barrier();
            *count = i + 1;
            noc_semaphore_set_multicast_loopback_src(
                word, get_noc_multicast_addr(x0, y0, x1, y1, arrived), nodes);
            noc_async_writes_flushed();
        }
        noc_semaphore_wait_min(
            reinterpret_cast<volatile tt_l1_ptr uint32_t*>((uintptr_t)arrived), i + 1);
        experimental::CircularBuffer(cb_tile).push_back(1);
    }
    noc_async_write_barrier();
}
