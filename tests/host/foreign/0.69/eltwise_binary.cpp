// out = (a + b) * b, a tile at a time; the sum goes through c_24.
#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
    const uint32_t tiles = get_arg_val<uint32_t>(0);
    constexpr auto cb_a = tt::CBIndex::c_0;
    constexpr auto cb_b = tt::CBIndex::c_1;
    constexpr auto cb_sum = tt::CBIndex::c_24;
    constexpr auto cb_out = tt::CBIndex::c_16;
    binary_op_init_common(cb_a, cb_b, cb_out);
    for (uint32_t i = 0; i < tiles; ++i) {
        cb_wait_front(cb_a, 1);
        cb_wait_front(cb_b, 1);
        cb_reserve_back(cb_sum, 1);
        add_tiles_init(cb_a, cb_b);
        tile_regs_acquire();
        add_tiles(cb_a, cb_b, 0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, cb_sum);
        tile_regs_release();
        cb_push_back(cb_sum, 1);
        cb_pop_front(cb_a, 1);
        cb_wait_front(cb_sum, 1);
        cb_reserve_back(cb_out, 1);
        mul_tiles_init(cb_sum, cb_b);
        tile_regs_acquire();
        mul_tiles(cb_sum, cb_b, 0, 0, 0);
        tile_regs_commit();
        tile_regs_wait();
        pack_tile(0, cb_out);
        tile_regs_release();
        cb_push_back(cb_out, 1);
        cb_pop_front(cb_sum, 1);
        cb_pop_front(cb_b, 1);
    }
}
