#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto x_args = TensorAccessorArgs<2>();
  constexpr auto y_args = TensorAccessorArgs<x_args.next_compile_time_args_offset()>();
  const auto y_accessor = TensorAccessor(y_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t y_dfb = get_compile_time_arg_val(1);
  cb_wait_front(y_dfb, 1);  // line 23
  int32_t y_dfb_address = get_read_ptr(y_dfb);  // line 24
  noc_async_write_page(0, y_accessor, y_dfb_address);
  noc_async_write_barrier();
  cb_pop_front(y_dfb, 1);  // line 23
  return;
}
