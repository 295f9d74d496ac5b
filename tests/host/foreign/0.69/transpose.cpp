// Transposes a block of Ht x Wt tiles: the tiles here, their order by the tile index.
#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/transpose_wh.h"

void kernel_main() {
    const uint32_t Ht = get_arg_val<uint32_t>(1);
    const uint32_t Wt = get_arg_val<uint32_t>(2);
    constexpr auto cb_in = tt::CBIndex::c_0;
    constexpr auto cb_out = tt::CBIndex::c_16;
    transpose_wh_init(cb_in, cb_out);
    cb_wait_front(cb_in, Ht * Wt);
    for (uint32_t w = 0; w < Wt; ++w) {
        for (uint32_t h = 0; h < Ht; ++h) {
            tile_regs_acquire();
            transpose_wh_tile(cb_in, h * Wt + w, 0);
            tile_regs_commit();
            cb_reserve_back(cb_out, 1);
            tile_regs_wait();
            pack_tile(0, cb_out);
            tile_regs_release();
            cb_push_back(cb_out, 1);
        }
    }
    cb_pop_front(cb_in, Ht * Wt);
}
