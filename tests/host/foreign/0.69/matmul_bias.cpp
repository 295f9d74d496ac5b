// C = relu(A @ B + bias), a block of Mt x Nt tiles in DST; bias is one row of tiles.
#include <cstdint>
#include "api/compute/bcast.h"
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
    const uint32_t Mt = get_arg_val<uint32_t>(1);
    const uint32_t Kt = get_arg_val<uint32_t>(2);
    const uint32_t Nt = get_arg_val<uint32_t>(3);
    constexpr auto cb_a = tt::CBIndex::c_0;
    constexpr auto cb_b = tt::CBIndex::c_1;
    constexpr auto cb_bias = tt::CBIndex::c_2;
    constexpr auto cb_product = tt::CBIndex::c_24;
    constexpr auto cb_out = tt::CBIndex::c_16;
    mm_block_init(cb_a, cb_b, cb_product, 0, Nt, Mt, Kt);
    cb_wait_front(cb_a, Mt * Kt);
    cb_wait_front(cb_b, Kt * Nt);
    cb_reserve_back(cb_product, Mt * Nt);
    tile_regs_acquire();
    for (uint32_t k = 0; k < Kt; ++k) {
        matmul_block(cb_a, cb_b, k, k * Nt, 0, 0, Nt, Mt, Kt);
    }
    tile_regs_commit();
    tile_regs_wait();
    pack_tile_block(0, cb_product, Mt * Nt);
    tile_regs_release();
    cb_push_back(cb_product, Mt * Nt);
    cb_pop_front(cb_a, Mt * Kt);
    cb_pop_front(cb_b, Kt * Nt);

    cb_wait_front(cb_product, Mt * Nt);
    cb_wait_front(cb_bias, Nt);
    add_bcast_rows_init_short(cb_product, cb_bias);
    pack_relu_config(ReluConfig::zero());
    for (uint32_t m = 0; m < Mt; ++m) {
        for (uint32_t n = 0; n < Nt; ++n) {
            cb_reserve_back(cb_out, 1);
            tile_regs_acquire();
            add_tiles_bcast_rows(cb_product, cb_bias, m * Nt + n, n, 0);
            tile_regs_commit();
            tile_regs_wait();
            pack_tile(0, cb_out);
            tile_regs_release();
            cb_push_back(cb_out, 1);
        }
    }
    pack_relu_config(ReluConfig::none());
    cb_pop_front(cb_product, Mt * Nt);
    cb_pop_front(cb_bias, Nt);
}
