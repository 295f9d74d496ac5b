#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto x_args = TensorAccessorArgs<6>();
  auto x_accessor = TensorAccessor(x_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  int32_t v = get_absolute_logical_x();  // line 33
  int32_t v_2 = get_absolute_logical_y();
  int32_t first = (v * 2 + v_2) * 2;
  int32_t v_3 = first + 2;  // line 34
  for (int32_t row = first; row < v_3; row += 1) {
    cb_reserve_back(x_dfb, 8);  // line 35
    int32_t x_dfb_address = get_write_ptr(x_dfb);  // line 36
    int32_t v_4 = row * 8;
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v_4 + tile_column;
      int32_t address = x_dfb_address + tile_column * 2048;
      noc_async_read_page(page, x_accessor, address);
    }
    noc_async_read_barrier();  // line 37
    cb_push_back(x_dfb, 8);  // line 35
  }
  return;
}
