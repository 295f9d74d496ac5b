"""Schema of the host's commands: a TTMetalBinary, identifier TTM0.

Fields and tags are in tt-mlir's positions (schema.SCHEMA_REVISION); tables are called Metal... if
its other binary has one of the same name. Members that are not written here are Nothing.
"""

from __future__ import annotations

METAL_IDENTIFIER = b"TTM0"
METAL_BINARY = "TTMetalBinary"
# Fields of an artifact's ComputeConfig that a MetalComputeConfig has.
METAL_FLAGS = ("math_fidelity", "fp32_dest_acc_en", "dst_full_sync_en", "math_approx_mode")

METAL_SCHEMA = """
enum MetalArch: uint { Wormhole_b0 = 0, Blackhole = 1, Quasar = 2 }
enum MetalNoc: ushort { Noc0 = 0, Noc1 = 1 }
enum MetalProcessor: ushort { RISCV_0 = 0, RISCV_1 = 1 }
enum MetalUnpackMode: ubyte { Fp32 = 0, Default = 1 }
struct Dim2dRange { loc: Dim2d; size: Dim2d; }
union MetalCommandType {
  HostAllocCommand = 1, ReturnCommand = 2, EnqueueProgramCommand = 3,
  EnqueueWriteBufferCommand = 4, EnqueueReadBufferCommand = 5, CreateBufferCommand = 6,
  DeallocateBufferCommand = 7, CreateLocalSemaphoreCommand = 10, FinishCommand = 16
}
union MetalKernel { MetalKernelSource = 1 }
union MetalKernelConfigType { MetalNocConfig = 1, MetalComputeConfig = 2 }
union MetalKernelArgType {
  MetalKernelArgCBPort = 1, MetalKernelArgBufferAddress = 2, MetalKernelArgLocalSemaphore = 3,
  MetalKernelArgTensorAccessorArgs = 7
}
union MetalBufferConfig { MetalShardedBufferConfig = 1, MetalInterleavedBufferConfig = 2 }
union MetalBufferDetail { MetalSystemBuffer = 1, MetalDeviceBuffer = 2 }
union MetalArgRef { MetalBufferRef = 1, MetalLocalSemaphoreRef = 3 }

// Programs of commands
table TTMetalBinary {
  version: Version; schema_hash: string; ttmlir_git_hash: string;
  system_desc: MetalSystemDesc; mlir: MLIR; programs: [MetalProgram]; dylibs: [Nothing];
}
table MetalSystemDesc { cpu_descs: [Nothing]; chip_descs: [MetalChipDesc]; }
table MetalChipDesc {
  arch: MetalArch; grid_size: Dim2d; coord_translation_offsets: Dim2d; l1_size: ulong;
  num_dram_channels: uint; dram_channel_size: ulong; noc_l1_address_align_bytes: uint;
  pcie_address_align_bytes: uint; noc_dram_address_align_bytes: uint; l1_unreserved_base: uint;
  erisc_l1_unreserved_base: uint; dram_unreserved_base: uint; dram_unreserved_end: uint;
}
table MetalProgram {
  name: string; inputs: [MetalTensorRef]; outputs: [MetalTensorRef];
  device_programs: [MetalDeviceProgram]; debug_info: Nothing; private: bool; mesh_shape: Dim2d;
}
table MetalTensorRef { size: ulong; desc: MetalTensorDesc; }
table MetalTensorDesc { shape: [int]; mesh_shape: [int]; layout: MetalLayoutDesc; }
table MetalLayoutDesc { memory_desc: MetalMemoryDesc; }
table MetalMemoryDesc { data_type: DataType; }
table MetalDeviceProgram {
  inputs: [MetalBufferRef]; outputs: [MetalBufferRef]; command_queues: [MetalCommandQueue];
  mesh: Nothing;
}
table MetalCommandQueue { name: string; queue_id: uint; commands: [MetalCommand]; }
table MetalCommand { type: MetalCommandType; loc: string; debug_info: string; }

// Commands
table HostAllocCommand { dst: MetalBufferRef; data: [ubyte]; }
table ReturnCommand { results: [MetalBufferRef]; }
table EnqueueProgramCommand {
  arg_refs: [MetalArgRef]; cbs: [MetalCBRef]; program: MetalProgramDesc;
}
table EnqueueWriteBufferCommand { src: MetalBufferRef; dst: MetalBufferRef; }
table EnqueueReadBufferCommand { src: MetalBufferRef; dst: MetalBufferRef; }
table CreateBufferCommand { ref: MetalBufferRef; }
table DeallocateBufferCommand { ref: MetalBufferRef; }
table CreateLocalSemaphoreCommand { ref: MetalLocalSemaphoreRef; }
table FinishCommand {}

// Memory
table MetalBufferRef { global_id: uint; address: ulong; desc: MetalBufferDesc; }
table MetalLocalSemaphoreRef { global_id: uint; initial_value: uint; }
table MetalCBRef { port: uint; buffer_ref: MetalBufferRef; }
table MetalBufferDesc {
  shape: [int]; host_strides: [int]; host_volume: ulong; data_type: DataType;
  element_shape: Dim2d; buffer_detail: MetalBufferDetail; mesh: string;
}
table MetalSystemBuffer { stride: [int]; }
table MetalDeviceBuffer {
  buffer_type: BufferType; buffer_config: MetalBufferConfig;
  circular_buffer_config: MetalCircularBufferConfig;
}
table MetalShardedBufferConfig {
  size: ulong; page_size: ulong; shard_spec_buffer: MetalShardSpecBuffer;
}
table MetalShardSpecBuffer {
  shard_spec: MetalShardSpec; page_shape: Dim2d; tensor_shape_in_pages: Dim2d;
}
table MetalShardSpec { core_range_set: [Dim2dRange]; shard_shape: Dim2d; }
table MetalInterleavedBufferConfig { size: ulong; page_size: ulong; }
table MetalCircularBufferConfig {
  core_range_set: [Dim2dRange]; total_size: ulong; page_size: ulong; num_buffers: ulong;
}

// Kernels of commands
table MetalProgramDesc { kernels: [MetalKernelConfig]; }
table MetalKernelConfig {
  kernel: MetalKernel; core_range_set: [Dim2dRange]; args: MetalKernelArgs;
  type: MetalKernelConfigType; debug_info: string; symbol: string; loc: string;
}
table MetalKernelSource { source: string; }
table MetalNocConfig { processor: MetalProcessor; noc_index: MetalNoc; }
table MetalComputeConfig {
  math_fidelity: MathFidelity; fp32_dest_acc_en: bool; dst_full_sync_en: bool;
  math_approx_mode: bool; unpack_to_dest_mode: [MetalUnpackMode];
}
table MetalKernelArgs {
  crt_args: [MetalKernelArg]; rt_args: [MetalKernelArg]; ct_args: [MetalKernelArg];
}
table MetalKernelArg { arg: MetalKernelArgType; }
table MetalKernelArgCBPort { operand_idx: uint; }
table MetalKernelArgBufferAddress { operand_idx: uint; }
table MetalKernelArgLocalSemaphore { operand_idx: uint; }
table MetalKernelArgTensorAccessorArgs { operand_idx: uint; }
"""
