// RUN: ttl opt %s -p convert-ttkernel-to-emitc --verify-each | filecheck %s

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  func.func @read() attributes {ttkernel.thread = #ttkernel.thread<noc>, ttl.processor = "reader", ttl.tensor_names = [], ttl.base_cta_index = 0 : i64} {
    %x = "ttkernel.get_absolute_logical_x"() : () -> index
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    %negative = arith.cmpi slt, %x, %zero : index
    %y = scf.if %negative -> (index) {
      scf.yield %zero : index
    } else {
      %0 = arith.floordivsi %x, %two : index
      scf.yield %0 : index
    }
    %sum = scf.for %i = %zero to %two step %two iter_args(%s = %y) -> (index) {
      %t = arith.minsi %s, %i : index
      scf.yield %t : index
    }
    %end = scf.while (%n = %sum) : (index) -> index {
      %c = arith.cmpi sgt, %n, %two : index
      scf.condition(%c) %n : index
    } do {
    ^bb0(%n : index):
      %m = arith.divsi %n, %two : index
      scf.yield %m : index
    }
    "emitc.verbatim"() <{value = "{"}> : () -> ()
    %z = arith.addi %end, %two : index
    "emitc.verbatim"() <{value = "}"}> : () -> ()
    %u = arith.muli %z, %z : index
    func.return
  }
}

// Floor division is a function of the kernel.
// CHECK:      "const auto floor_divide = [](int32_t a, int32_t b) -> int32_t
// CHECK:      %negative = "emitc.expression"(%x, {{%[0-9]+}}) <{do_not_inline}>
// CHECK:      emitc.cmp
// A branch with a result assigns to a variable.
// CHECK:      %y = "emitc.variable"
// CHECK-NEXT: "emitc.if"(%negative) ({
// CHECK:      "emitc.assign"(%y, {{%[0-9]+}})
// CHECK:      emitc.call_opaque "floor_divide"
// CHECK:      "emitc.assign"(%y, {{%[0-9]+}})
// A loop starts its variable and assigns at the end of its body.
// CHECK:      %sum = "emitc.variable"
// CHECK-NEXT: "emitc.assign"(%sum, %y_1)
// CHECK-NEXT: "emitc.for"
// CHECK:      %s = "emitc.load"(%sum)
// CHECK:      emitc.cmp
// CHECK:      emitc.conditional
// CHECK:      "emitc.assign"(%sum, %t)
// CHECK:      "emitc.while"() ({
// CHECK:      emitc.yield
// CHECK:      emitc.div
// What is used after a scope has a variable before it.
// CHECK:      %z = "emitc.variable"
// CHECK-NEXT: "emitc.verbatim"() <{value = "{"}>
// CHECK:      "emitc.assign"(%z, %z_1)
// CHECK:      "emitc.verbatim"() <{value = "}"}>
// CHECK-NOT:  scf.
