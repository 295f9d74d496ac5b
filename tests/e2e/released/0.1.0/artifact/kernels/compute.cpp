#include <cstdint>
#include "api/compute/cb_api.h"
#include "api/compute/compute_kernel_hw_startup.h"
#include "api/compute/eltwise_binary.h"
#include "api/compute/pack.h"
#include "api/compute/reg_api.h"

void kernel_main() {
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t y_dfb = get_compile_time_arg_val(1);
  compute_kernel_hw_startup(x_dfb, x_dfb, y_dfb);  // line 19
  cb_wait_front(x_dfb, 1);  // line 18
  cb_reserve_back(y_dfb, 1);
  tile_regs_acquire();  // line 19
  add_init(x_dfb, x_dfb);
  add_tiles(x_dfb, x_dfb, 0, 0, 0);
  tile_regs_commit();
  tile_regs_wait();
  pack_tile<true>(0, y_dfb, 0);
  tile_regs_release();
  cb_pop_front(x_dfb, 1);  // line 18
  cb_push_back(y_dfb, 1);
  return;
}
