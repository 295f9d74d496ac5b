#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/eltwise_binary_sfpu.h"
#include "api/compute/eltwise_unary/exp.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"
#include "api/compute/tile_move_copy.h"

void kernel_main() {
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t c_dfb = get_compile_time_arg_val(2);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(3);
  compute_kernel_hw_startup(a_dfb, b_dfb, y_dfb);  // line 35
  for (int32_t i = 0; i < 2; i += 1) {  // line 27
    for (int32_t i_2 = 0; i_2 < 2; i_2 += 1) {  // line 28
      cb_wait_front(a_dfb, 4);  // line 30
      cb_wait_front(b_dfb, 4);  // line 31
      cb_wait_front(c_dfb, 4);  // line 32
      cb_reserve_back(y_dfb, 4);  // line 33
      tile_regs_acquire();  // line 35
      mul_init(a_dfb, b_dfb);
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        mul_tiles(a_dfb, b_dfb, tile, tile, tile);
      }
      copy_init(c_dfb);
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        int32_t dst = tile + 4;
        copy_tile(c_dfb, tile, dst);
      }
      exp_tile_init();
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        int32_t dst = tile + 4;
        exp_tile(dst);
      }
      add_binary_tile_init();
      for (uint32_t tile = 0; tile < 4; tile += 1) {
        int32_t dst = tile + 4;
        add_binary_tile<ckernel::DstRoundingMode::NearestEven>(tile, dst, tile);
      }
      tile_regs_commit();
      tile_regs_wait();
      pack_block(0, y_dfb, 4);
      tile_regs_release();
      cb_pop_front(a_dfb, 4);  // line 30
      cb_pop_front(b_dfb, 4);  // line 31
      cb_pop_front(c_dfb, 4);  // line 32
      cb_push_back(y_dfb, 4);  // line 33
    }
  }
  return;
}
