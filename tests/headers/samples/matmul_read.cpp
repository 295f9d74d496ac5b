#include <cstdint>
#include "api/dataflow/dataflow_api.h"

void kernel_main() {
  constexpr uint32_t a_dfb = get_compile_time_arg_val(0);
  constexpr uint32_t b_dfb = get_compile_time_arg_val(1);
  constexpr uint32_t bias_dfb = get_compile_time_arg_val(2);
  constexpr auto a_args = TensorAccessorArgs<4>();
  constexpr auto b_args = TensorAccessorArgs<a_args.next_compile_time_args_offset()>();
  constexpr auto bias_args = TensorAccessorArgs<b_args.next_compile_time_args_offset()>();
  const auto a = TensorAccessor(a_args, get_common_arg_val<uint32_t>(0));
  const auto b = TensorAccessor(b_args, get_common_arg_val<uint32_t>(1));
  const auto bias = TensorAccessor(bias_args, get_common_arg_val<uint32_t>(2));
  int32_t node_column = get_absolute_logical_x();
  int32_t node_row = get_absolute_logical_y();
  for (int32_t i = 0; i < 2; i += 1) {
    int32_t row = (node_row * 2 + i) * 2;
    for (int32_t j = 0; j < 2; j += 1) {
      int32_t column = (node_column * 2 + j) * 2;
      for (int32_t k = 0; k < 4; k += 1) {
        cb_reserve_back(a_dfb, 4);
        cb_reserve_back(b_dfb, 4);
        int32_t a_l1 = get_write_ptr(a_dfb);
        int32_t b_l1 = get_write_ptr(b_dfb);
        for (int32_t r = 0; r < 2; r += 1) {
          for (int32_t s = 0; s < 2; s += 1) {
            int32_t offset = (r * 2 + s) * 2048;
            noc_async_read_page((row + r) * 8 + k * 2 + s, a, a_l1 + offset);
            noc_async_read_page((k * 2 + r) * 8 + column + s, b, b_l1 + offset);
          }
        }
        noc_async_read_barrier();
        cb_push_back(a_dfb, 4);
        cb_push_back(b_dfb, 4);
      }
      cb_reserve_back(bias_dfb, 4);
      int32_t bias_l1 = get_write_ptr(bias_dfb);
      for (int32_t r = 0; r < 2; r += 1) {
        for (int32_t s = 0; s < 2; s += 1) {
          noc_async_read_page((row + r) * 8 + column + s, bias, bias_l1 + (r * 2 + s) * 2048);
        }
      }
      noc_async_read_barrier();
      cb_push_back(bias_dfb, 4);
    }
  }
}
