#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto x_args = TensorAccessorArgs<6>();
  constexpr auto y_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
  auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t y_dfb = get_compile_time_arg_val(1);
  int32_t v = get_absolute_logical_x();  // line 41
  int32_t v_2 = get_absolute_logical_y();
  int32_t first = (v * 2 + v_2) * 2;
  int32_t v_3 = first + 2;  // line 42
  for (int32_t row = first; row < v_3; row += 1) {
    cb_wait_front(y_dfb, 8);  // line 43
    int32_t y_dfb_address = get_read_ptr(y_dfb);  // line 44
    int32_t v_4 = row * 8;
    for (uint32_t tile_column = 0; tile_column < 8; tile_column += 1) {
      int32_t page = v_4 + tile_column;
      int32_t address = y_dfb_address + tile_column * 2048;
      noc_async_write_page(page, y_accessor, address);
    }
    noc_async_writes_flushed();  // line 45
    cb_pop_front(y_dfb, 8);  // line 43
  }
  noc_async_write_barrier();
  return;
}
