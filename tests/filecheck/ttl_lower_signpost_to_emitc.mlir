// RUN: ttl opt %s -p ttl-lower-signpost-to-emitc | filecheck %s

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  // Zones of the profiler have plain names, and names of their own.
  // CHECK:      attributes {{.*}}ttl.signposts = {a_b = "a b", a_b_2 = "a.b"}
  // CHECK:      "emitc.verbatim"() <{value = "{"}>
  // CHECK-NEXT: "emitc.verbatim"() <{value = "DeviceZoneScopedN(\22a_b\22);"}>
  // CHECK-NEXT: %x = arith.constant
  // CHECK-NEXT: "emitc.verbatim"() <{value = "{"}>
  // CHECK-NEXT: "emitc.verbatim"() <{value = "DeviceZoneScopedN(\22a_b_2\22);"}>
  // CHECK-NEXT: "emitc.verbatim"() <{value = "}"}>
  // CHECK-NEXT: "emitc.verbatim"() <{value = "}"}>
  // CHECK-NOT:  ttl.signpost"
  func.func @measured() attributes {ttkernel.thread = #ttkernel.thread<noc>} {
    "ttl.signpost"() <{region_name = "a b"}> : () -> ()
    %x = arith.constant 0 : index
    "ttl.signpost"() <{region_name = "a.b"}> : () -> ()
    "ttl.signpost"() <{region_name = "a.b", is_end}> : () -> ()
    "ttl.signpost"() <{region_name = "a b", is_end}> : () -> ()
    func.return
  }
}
