#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr auto x_args = TensorAccessorArgs<2>();
  const auto x_accessor = TensorAccessor(x_args, get_common_arg_val<uint32_t>(0));
  constexpr uint32_t x_dfb = get_compile_time_arg_val(0);
  cb_reserve_back(x_dfb, 1);  // line 13
  int32_t x_dfb_address = get_write_ptr(x_dfb);  // line 14
  noc_async_read_page(0, x_accessor, x_dfb_address);
  noc_async_read_barrier();
  cb_push_back(x_dfb, 1);  // line 13
  return;
}
