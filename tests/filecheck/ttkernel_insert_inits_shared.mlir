// RUN: ttl opt %s -p ttkernel-insert-inits | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">
!b = !ttkernel.cb<"b_dfb", "BFloat16">
!w = !ttkernel.cb<"w_dfb", "Float32">
!v = !ttkernel.cb<"v_dfb", "Float32">
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !ttcore.tile<32x32, f32>, 2 : i64>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "w_dfb", type = !dfb, unpack_to_dest_fp32 = true}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "v_dfb", type = !dfb}> : () -> ()

  // Buffers of one format share an init, whatever they are called.
  // CHECK-LABEL: func.func @one_format
  // CHECK:         "ttkernel.copy_init"(%a)
  // CHECK-NEXT:    scf.for
  // CHECK-NOT:     copy_init
  // CHECK:         func.return
  func.func @one_format() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %b = "ttkernel.get_compile_time_arg"() <{index = 1 : i64}> : () -> !b
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      "ttkernel.copy_tile"(%a, %i, %i) : (!a, index, index) -> ()
      "ttkernel.copy_tile"(%b, %i, %i) : (!b, index, index) -> ()
      "ttkernel.pack_tile"(%i, %a, %i) <{template = "true"}> : (index, !a, index) -> ()
    }
    func.return
  }

  // One that is unpacked straight to DST is another format to source and init.
  // CHECK-LABEL: func.func @to_registers
  // CHECK:         "ttkernel.copy_tile"(%w
  // CHECK-NEXT:    "ttkernel.reconfig_data_format_srca"(%v)
  // CHECK-NEXT:    "ttkernel.copy_init"(%v)
  // CHECK-NEXT:    "ttkernel.copy_tile"(%v
  func.func @to_registers() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %w = "ttkernel.get_compile_time_arg"() <{index = 2 : i64}> : () -> !w
    %v = "ttkernel.get_compile_time_arg"() <{index = 3 : i64}> : () -> !v
    %zero = arith.constant 0 : index
    "ttkernel.copy_tile"(%w, %zero, %zero) : (!w, index, index) -> ()
    "ttkernel.copy_tile"(%v, %zero, %zero) : (!v, index, index) -> ()
    "ttkernel.pack_tile"(%zero, %w, %zero) <{template = "true"}> : (index, !w, index) -> ()
    func.return
  }

  // What comes from a register is taken for the format of the buffer: both sources are set up.
  // CHECK-LABEL: func.func @reuse
  // CHECK:         "ttkernel.copy_tile"(%w
  // CHECK-NEXT:    "ttkernel.reconfig_data_format_srca"(%a)
  // CHECK-NEXT:    "ttkernel.add_reuse_dest_init"(%a)
  func.func @reuse() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %w = "ttkernel.get_compile_time_arg"() <{index = 2 : i64}> : () -> !w
    %zero = arith.constant 0 : index
    "ttkernel.copy_tile"(%w, %zero, %zero) : (!w, index, index) -> ()
    "ttkernel.add_reuse_dest_tiles"(%a, %zero, %zero) <{template = "EltwiseBinaryReuseDestType::DEST_TO_SRCA"}> : (!a, index, index) -> ()
    "ttkernel.pack_tile"(%zero, %a, %zero) <{template = "true"}> : (index, !a, index) -> ()
    func.return
  }
}
