// RUN: ttl opt %s -p ttkernel-insert-l1-accumulation | filecheck %s

!a = !ttkernel.cb<"a_dfb", "BFloat16">

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // rule SUM: switched on before the loop, off after the last pack that adds.
  // CHECK-LABEL: func.func @summing
  // CHECK:         "ttkernel.pack_tile"
  // CHECK-NEXT:    "ttkernel.pack_reconfig_l1_acc"() <{literals = ["1"]}>
  // CHECK-NEXT:    scf.for
  // CHECK-NOT:     pack_reconfig_l1_acc
  // CHECK:         "ttkernel.pack_tile"(%{{.*}}) <{template = "true"}> {accumulate}
  // CHECK:         "ttkernel.pack_reconfig_l1_acc"() <{literals = ["0"]}>
  // CHECK-NEXT:    func.return
  func.func @summing() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    "ttkernel.copy_tile"(%a, %zero, %zero) : (!a, index, index) -> ()
    "ttkernel.pack_tile"(%zero, %a, %zero) <{template = "true"}> : (index, !a, index) -> ()
    scf.for %i = %zero to %one step %one {
      "ttkernel.copy_tile"(%a, %i, %i) : (!a, index, index) -> ()
      "ttkernel.pack_tile"(%i, %a, %i) <{template = "true"}> {accumulate} : (index, !a, index) -> ()
    }
    func.return
  }

  // rule FIRST: the condition is new in each iteration, and before the loops over tiles.
  // CHECK-LABEL: func.func @after_first
  // CHECK:         scf.for %k
  // CHECK-NEXT:    [[LATER:%[0-9]+]] = arith.cmpi ne, %k, %zero
  // CHECK-NEXT:    "ttkernel.pack_reconfig_l1_acc"([[LATER]])
  // CHECK-NEXT:    affine.for
  // CHECK-NEXT:    "ttkernel.pack_tile"
  // CHECK:         "ttkernel.pack_reconfig_l1_acc"() <{literals = ["0"]}>
  // CHECK-NEXT:    func.return
  func.func @after_first() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %k = %zero to %one step %one {
      affine.for %t = 0 to 4 {
        "ttkernel.pack_tile"(%t, %a, %t) <{template = "true"}> {accumulate, after_first} : (index, !a, index) -> ()
      }
    }
    func.return
  }

  // rule FIRST: nor is it made before a loop around that one.
  // CHECK-LABEL: func.func @after_first_in_loop
  // CHECK-NOT:     pack_reconfig_l1_acc
  // CHECK:         scf.for %i
  // CHECK-NEXT:      scf.for %k
  // CHECK-NEXT:        [[LATER:%[0-9]+]] = arith.cmpi ne, %k, %zero
  // CHECK-NEXT:        "ttkernel.pack_reconfig_l1_acc"([[LATER]])
  // CHECK-NEXT:        "ttkernel.pack_tile"
  // CHECK:         "ttkernel.pack_reconfig_l1_acc"() <{literals = ["0"]}>
  // CHECK-NEXT:    func.return
  func.func @after_first_in_loop() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a = "ttkernel.get_compile_time_arg"() <{index = 0 : i64}> : () -> !a
    %zero = arith.constant 0 : index
    %one = arith.constant 1 : index
    scf.for %i = %zero to %one step %one {
      scf.for %k = %zero to %one step %one {
        "ttkernel.pack_tile"(%k, %a, %k) <{template = "true"}> {accumulate, after_first} : (index, !a, index) -> ()
      }
    }
    func.return
  }
}
