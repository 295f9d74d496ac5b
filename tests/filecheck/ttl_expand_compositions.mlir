// RUN: ttl opt %s -p ttl-expand-compositions | filecheck %s

!tile = !ttcore.tile<32x32, bf16>
!dfb = !ttl.dfb<[1 : i64, 1 : i64], !tile, 2 : i64>
!block = tensor<1x1x!tile>

!word = !ttcore.tile<32x32, si32>
!word_dfb = !ttl.dfb<[1 : i64, 1 : i64], !word, 2 : i64>
!words = tensor<1x1x!word>

!row_dfb = !ttl.dfb<[1 : i64, 2 : i64], !word, 2 : i64>
!row = tensor<1x2x!word>

!short = !ttcore.tile<32x32, ui16>
!shorts = tensor<1x1x!short>

builtin.module attributes {ttl.target_arch = "wormhole_b0"} {
  "ttl.dataflow_buffer"() <{sym_name = "a_dfb", type = !dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "n_dfb", type = !word_dfb}> : () -> ()
  "ttl.dataflow_buffer"() <{sym_name = "r_dfb", type = !row_dfb}> : () -> ()

  // What the chip has stays as it is; a threshold keeps its digits, the value becomes a block.
  // CHECK-LABEL: func.func @floats
  // CHECK: %sum = "ttl.add"(%a, %a)
  // CHECK-NEXT: %[[ABOVE:.*]] = "ttl.greater_than"(%a) <{parameters = {value = 3.000000e-01 : f32}}>
  // CHECK-NEXT: %[[VALUE:.*]] = "ttl.fill"() <{value = 1.700000e+00 : f32}>
  // CHECK-NEXT: %limited = "ttl.select"(%[[ABOVE]], %[[VALUE]], %a)
  func.func @floats() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %sum = "ttl.add"(%a, %a) : (!block, !block) -> !block
    %limited = "ttl.threshold"(%a) <{parameters = {threshold = 0.3 : f32, value = 1.7 : f32}}> : (!block) -> !block
    // A comparison gives 1 or 0, of anything else minus zero must become zero.
    // CHECK: %[[IS:.*]] = "ttl.lt"(%a, %sum)
    // CHECK-NEXT: %one = "ttl.select"(%[[IS]], %a, %sum)
    // CHECK-NEXT: %[[NONZERO:.*]] = "ttl.differs_from"(%sum) <{parameters = {value = 0.000000e+00 : f32}}>
    // CHECK-NEXT: %other = "ttl.select"(%[[NONZERO]], %a, %sum)
    %is = "ttl.lt"(%a, %sum) : (!block, !block) -> !block
    %one = "ttl.where"(%is, %a, %sum) : (!block, !block, !block) -> !block
    %other = "ttl.where"(%sum, %a, %sum) : (!block, !block, !block) -> !block
    // CHECK-NOT: ttl.mod
    // CHECK: %[[REST:.*]] = "ttl.fmod"(%a, %one)
    // CHECK: %rest = "ttl.select"(%{{.*}}, %{{.*}}, %[[REST]])
    %rest = "ttl.mod"(%a, %one) : (!block, !block) -> !block
    func.return
  }

  // CHECK-LABEL: func.func @integers
  // CHECK: %large = "ttl.clamp"(%n)
  // CHECK: %[[SQUARE:.*]] = "ttl.mul"(%n, %n)
  // CHECK-NEXT: %cube = "ttl.mul"(%n, %[[SQUARE]])
  // What is beyond the 24 digits of a float becomes one odd bit, so that it is rounded once.
  // CHECK: %[[SMALL:.*]] = "ttl.lt"(
  // CHECK: %[[ODD:.*]] = "ttl.bits_or"(
  // CHECK-NEXT: %[[EXACT:.*]] = "ttl.select"(%[[SMALL]], %cube, %[[ODD]])
  // CHECK-NEXT: %[[FLOAT:.*]] = "ttl.int32_to_float"(%[[EXACT]])
  // CHECK-NEXT: %[[ROUNDED:.*]] = "ttl.typecast"(%[[FLOAT]])
  // CHECK-NEXT: "ttl.store"(%[[ROUNDED]], %out)
  func.func @integers() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !word_dfb
    %n = "ttl.dfb_wait"(%n_dfb) : (!word_dfb) -> !words
    %out = "ttl.dfb_reserve"(%a_dfb) : (!dfb) -> !block
    %large = "ttl.clamp"(%n) <{parameters = {min = 1.0 : f64, max = 7.0 : f64}}> : (!words) -> !words
    %cube = "ttl.pow"(%n) <{parameters = {n = 3 : i64}}> : (!words) -> !words
    "ttl.store"(%cube, %out) : (!words, !block) -> ()
    func.return
  }

  // CHECK-LABEL: func.func @casts
  // CHECK: %short = "ttl.low_16_bits"(%n)
  // CHECK-NEXT: %word = "ttl.as_int32"(%short)
  // NaN becomes 0.
  // CHECK-NEXT: %[[IS_NAN:.*]] = "ttl.ne"(%a, %a)
  // CHECK: %[[NUMBER:.*]] = "ttl.select"(%[[IS_NAN]], %{{.*}}, %a)
  // CHECK-NEXT: %[[LIMITED:.*]] = "ttl.clamp"(%[[NUMBER]])
  // CHECK-NEXT: %[[WORD:.*]] = "ttl.float_to_int32"(%[[LIMITED]])
  // CHECK-NEXT: %from_float = "ttl.as_uint16"(%[[WORD]])
  // CHECK-NEXT: %rounded = "ttl.typecast"(%a)
  func.func @casts() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %a_dfb = "ttl.bind_dfb"() <{buffer = @a_dfb}> : () -> !dfb
    %n_dfb = "ttl.bind_dfb"() <{buffer = @n_dfb}> : () -> !word_dfb
    %a = "ttl.dfb_wait"(%a_dfb) : (!dfb) -> !block
    %n = "ttl.dfb_wait"(%n_dfb) : (!word_dfb) -> !words
    %short = "ttl.typecast"(%n) : (!words) -> !shorts
    %word = "ttl.typecast"(%short) : (!shorts) -> !words
    %from_float = "ttl.typecast"(%a) : (!block) -> !shorts
    %rounded = "ttl.typecast"(%a) : (!block) -> !block
    func.return
  }

  // Tiles with tiles, then inside the tile, where only the column of results is kept: by a tile
  // that is made when the kernel starts.
  // CHECK-LABEL: func.func @whole_reduction
  // CHECK: %[[ONES:.*]] = "ttl.reduce_max"(%{{.*}}, %{{.*}}) <{parameters = {dims = [1 : i64]}}> : ({{.*}}f32{{.*}}
  // CHECK-NEXT: %[[KEPT:.*]] = "ttl.float_to_int32"(%[[ONES]])
  // CHECK: scf.for
  // CHECK: %[[TILES:.*]] = "ttl.sum_of_tiles"(%n) <{parameters = {dims = [1 : i64]}}>
  // CHECK-NEXT: %[[COLUMN:.*]] = "ttl.sum_of_columns"(%[[TILES]])
  // CHECK-NEXT: %total = "ttl.mul"(%[[COLUMN]], %[[KEPT]])
  // CHECK-NOT: ttl.reduce_sum
  func.func @whole_reduction() attributes {ttkernel.thread = #ttkernel.thread<compute>} {
    %r_dfb = "ttl.bind_dfb"() <{buffer = @r_dfb}> : () -> !row_dfb
    %n = "ttl.dfb_wait"(%r_dfb) : (!row_dfb) -> !row
    %zero = arith.constant 0 : index
    %two = arith.constant 2 : index
    scf.for %i = %zero to %two step %two {
      %one = "ttl.fill"() <{value = 1.0 : f64}> : () -> !words
      %total = "ttl.reduce_sum"(%n, %one) <{parameters = {dims = [-1 : i64]}}> : (!row, !words) -> !words
    }
    func.return
  }
}
