#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/matmul.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t bias_dfb = get_compile_time_arg_val(2);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  compute_kernel_hw_startup<SrcOrder::Reverse>(a_dfb, b_dfb, y_dfb);  // line 33
  add_binary_tile_init();  // line 35
  pack_relu_config(ReluConfig::zero());
  for (int32_t i = 0; i < 2; i += 1) {  // line 28
    for (int32_t i_2 = 0; i_2 < 2; i_2 += 1) {  // line 29
      tile_regs_acquire();  // line 31
      matmul_block_init(a_dfb, b_dfb, 0, 2, 2, 2);  // line 33
      for (int32_t i_3 = 0; i_3 < 4; i_3 += 1) {  // line 31
        cb_wait_front(a_dfb, 4);  // line 32
        cb_wait_front(b_dfb, 4);
        for (uint32_t k_tile = 0; k_tile < 2; k_tile += 1) {  // line 33
          int32_t right_tile = k_tile * 2;
          matmul_block(a_dfb, b_dfb, k_tile, right_tile, 0, 0, 2, 2, 2);
        }
        cb_pop_front(a_dfb, 4);  // line 32
        cb_pop_front(b_dfb, 4);
      }
      cb_wait_front(bias_dfb, 4);  // line 34
      cb_reserve_back(y_dfb, 4);
      copy_init(bias_dfb);  // line 35
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        int32_t dst = tile + 4;
        copy_tile(bias_dfb, tile, dst);
      }
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        int32_t dst = tile + 4;
        add_binary_tile<ckernel::DstRoundingMode::NearestEven>(tile, dst, tile);
      }
      tile_regs_commit();  // line 31
      tile_regs_wait();
      pack_block(0, y_dfb, 4);  // line 35
      tile_regs_release();  // line 31
      cb_pop_front(bias_dfb, 4);  // line 34
      cb_push_back(y_dfb, 4);
    }
  }
  pack_relu_config(ReluConfig::none());
  return;
}
