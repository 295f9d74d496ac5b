// RUN: ttl opt %s -p ttnn-lower-tt-lang-to-generic | filecheck %s

!t = tensor<64x32xbf16>

func.func @version_1(%a: !t, %b: !t, %out: !t) -> !t {
  %0 = ttnn.tt_lang_op(%a, %b, %out) {arg_roles = "in,in,out", kernel_artifact = "{\"format_version\": 1, \"num_pipe_nets\": 0, \"core_range\": {\"start\": [0, 0], \"end\": [1, 3]}, \"cb_configs\": [{\"buffer_index\": 0, \"page_size\": 2048, \"total_size\": 4096, \"data_format\": \"BFloat16\"}], \"kernels\": [{\"thread_type\": \"noc\", \"cpp_source\": \"// r\", \"tensor_indices\": [0, 1], \"kernel_config\": {\"type\": \"ReaderKernelConfig\"}}, {\"thread_type\": \"compute\", \"cpp_source\": \"// c\", \"tensor_indices\": [], \"kernel_config\": {\"type\": \"ComputeKernelConfig\", \"math_fidelity\": \"MathFidelity.HiFi2\", \"fp32_dest_acc_en\": true}}, {\"thread_type\": \"noc\", \"cpp_source\": \"// w\", \"tensor_indices\": [2], \"kernel_config\": {\"type\": \"WriterKernelConfig\"}}]}", kernel_id = "k", version_tag = "t"} : (!t, !t, !t) -> !t
  return %0 : !t
}

// CHECK-LABEL: func.func @version_1
// CHECK: "ttnn.generic"(%a, %b, %out)
// CHECK-SAME: config = {ReaderKernelConfig = {}}
// CHECK-SAME: start_coord = {x = 0 : i64, y = 0 : i64}, end_coord = {x = 1 : i64, y = 3 : i64}
// Data movement kernels get a marker for each operand after the buffers.
// CHECK-SAME: ct_args = {args = [{arg = {KernelArgCBBufferIndex = {buffer_index = 0 : i64}}}, {arg = {KernelArgTensorAccessorArgs = {operand_index = 0 : i64}}}, {arg = {KernelArgTensorAccessorArgs = {operand_index = 1 : i64}}}, {arg = {KernelArgTensorAccessorArgs = {operand_index = 2 : i64}}}]}, rt_args = [], common_rt_args = {args = [{arg = {KernelArgBufferAddressOfTensor = {tensor_idx = 0 : i64}}}, {arg = {KernelArgBufferAddressOfTensor = {tensor_idx = 1 : i64}}}]}}
// CHECK-SAME: config = {ComputeKernelConfig = {math_fidelity = "HiFi2", fp32_dest_acc_en = true, dst_full_sync_en = false,
// CHECK-SAME: ct_args = {args = [{arg = {KernelArgCBBufferIndex = {buffer_index = 0 : i64}}}]}, rt_args = [], common_rt_args = {args = []}}
// CHECK-SAME: config = {WriterKernelConfig = {}}
// CHECK-SAME: semaphores = []
// CHECK-SAME: formats = [{buffer_index = 0 : i64, dtype = "BFloat16", page_size = 2048 : i64}]
// The result is the operand that was written.
// CHECK-NEXT: func.return %out

func.func @version_2(%a: !t, %out: !t) -> !t {
  %0 = ttnn.tt_lang_op(%a, %out) {arg_roles = "in,out", kernel_artifact = "{\"format_version\": 2, \"num_pipe_sync_semaphores\": 2, \"num_pipe_global_semaphores\": 1, \"pipe_sram_scratch_bytes\": 40, \"core_range_set\": [{\"start\": [0, 0], \"end\": [1, 0]}, {\"start\": [0, 1], \"end\": [0, 1]}], \"cb_configs\": [], \"kernels\": [{\"thread_type\": \"noc\", \"cpp_source\": \"// w\", \"tensor_indices\": [1], \"kernel_config\": {\"type\": \"WriterKernelConfig\"}}]}", kernel_id = "k", version_tag = "t"} : (!t, !t) -> !t
  return %0 : !t
}

// A row of zeros for each of the three cores, 40 bytes rounded up to 64.
// CHECK-LABEL: func.func @version_2
// CHECK: [[S:%.*]] = ttnn.full() {fill_value = 0.000000e+00 : f64, shape = array<i64: 3, 16>} : () -> tensor<3x16xf32, #ttnn.ttnn_layout<(d0, d1) -> (d0, d1), <3x1>, memref<1x16xf32, #ttnn.buffer_type<l1>>, <height_sharded>, core_ranges = <[#ttnn.core_range<(0, 0), (1, 0)>, #ttnn.core_range<(0, 1), (0, 1)>]>>>
// CHECK: [[G:%.*]] = ttnn.create_global_semaphore()
// CHECK: "ttnn.generic"(%a, %out, [[S]], [[G]])
// The scratch has an address and no accessor; indices go on after the tensors.
// CHECK-SAME: ct_args = {args = [{arg = {KernelArgTensorAccessorArgs = {operand_index = 0 : i64}}}, {arg = {KernelArgTensorAccessorArgs = {operand_index = 1 : i64}}}]}
// CHECK-SAME: common_rt_args = {args = [{arg = {KernelArgBufferAddressOfTensor = {tensor_idx = 1 : i64}}}, {arg = {KernelArgBufferAddressOfTensor = {tensor_idx = 2 : i64}}}, {arg = {KernelArgGlobalSemaphore = {global_semaphore_index = 3 : i64}}}]}
// CHECK-SAME: semaphores = [{id = 0 : i64, core_type = "WORKER",
// CHECK-SAME: {id = 1 : i64, core_type = "WORKER",
// CHECK: ttnn.deallocate([[S]])
// CHECK-NEXT: func.return %out
