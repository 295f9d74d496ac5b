#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/fill.h"
#include "api/compute/eltwise_unary/relu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t bias_dfb = get_compile_time_arg_val(2);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  compute_kernel_hw_startup<SrcOrder::Reverse>(a_dfb, b_dfb, y_dfb);
  for (int32_t i = 0; i < 2; i += 1) {
    for (int32_t j = 0; j < 2; j += 1) {
      tile_regs_acquire();
      fill_tile_init();
      for (int32_t t = 0; t < 4; t += 1) {
        fill_tile(t, 0.0f);
      }
      matmul_block_init(a_dfb, b_dfb, 0, 2, 2, 2);
      for (int32_t k = 0; k < 4; k += 1) {
        cb_wait_front(a_dfb, 4);
        cb_wait_front(b_dfb, 4);
        for (int32_t s = 0; s < 2; s += 1) {
          int32_t b_tile = s * 2;
          matmul_block(a_dfb, b_dfb, s, b_tile, 0, 0, 2, 2, 2);
        }
        cb_pop_front(a_dfb, 4);
        cb_pop_front(b_dfb, 4);
      }
      cb_wait_front(bias_dfb, 4);
      cb_reserve_back(y_dfb, 4);
      copy_init(bias_dfb);
      for (int32_t t = 0; t < 4; t += 1) {
        int32_t dst = t + 4;
        copy_tile(bias_dfb, t, dst);
      }
      add_binary_tile_init();
      for (int32_t t = 0; t < 4; t += 1) {
        int32_t dst = t + 4;
        add_binary_tile<DstRoundingMode::NearestEven>(t, dst, t);
      }
      relu_tile_init();
      for (int32_t t = 0; t < 4; t += 1) {
        relu_tile(t);
      }
      tile_regs_commit();
      tile_regs_wait();
      for (int32_t t = 0; t < 4; t += 1) {
        pack_tile<true>(t, y_dfb, t);
      }
      tile_regs_release();
      cb_push_back(y_dfb, 4);
      cb_pop_front(bias_dfb, 4);
    }
  }
}
