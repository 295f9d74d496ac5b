// RUN: ttl opt %s -p shlo-outline-regions | filecheck %s

// What the regions use from outside, %limit, is an argument of both functions.
func.func @main(%x: tensor<4xf32>, %limit: tensor<f32>, %n: tensor<i32>, %flag: tensor<i1>) -> (tensor<4xf32>, tensor<4xf32>) {
  %zero = stablehlo.constant dense<0.0> : tensor<f32>
  %0, %1 = stablehlo.while(%i = %x, %s = %zero) : tensor<4xf32>, tensor<f32>
  cond {
    %c = stablehlo.compare LT, %s, %limit, FLOAT : (tensor<f32>, tensor<f32>) -> tensor<i1>
    stablehlo.return %c : tensor<i1>
  } do {
    %next = stablehlo.add %s, %limit : tensor<f32>
    %y = stablehlo.tanh %i : tensor<4xf32>
    stablehlo.return %y, %next : tensor<4xf32>, tensor<f32>
  }
  %2 = "stablehlo.case"(%n) ({
    %a = stablehlo.sine %0 : tensor<4xf32>
    stablehlo.return %a : tensor<4xf32>
  }, {
    stablehlo.return %x : tensor<4xf32>
  }) : (tensor<i32>) -> tensor<4xf32>
  %3 = "stablehlo.if"(%flag) ({
    stablehlo.return %x : tensor<4xf32>
  }, {
    stablehlo.return %2 : tensor<4xf32>
  }) : (tensor<i1>) -> tensor<4xf32>
  return %2, %3 : tensor<4xf32>, tensor<4xf32>
}

// CHECK:      func.func @main
// CHECK:      [[Y:%.*]], {{%.*}} = ttir.while(%x, %zero, %limit) {functions = [@main.while_0.condition, @main.while_0.body]} : (tensor<4xf32>, tensor<f32>, tensor<f32>) -> (tensor<4xf32>, tensor<f32>)
// CHECK-NEXT: [[C:%.*]] = ttir.case(%n, [[Y]], %x) {functions = [@main.case_1.branch_0, @main.case_1.branch_1]}
// The branch of what is not true comes first.
// CHECK-NEXT: [[T:%.*]] = stablehlo.convert %flag : (tensor<i1>) -> tensor<i32>
// CHECK-NEXT: ttir.case([[T]], [[C]], %x) {functions = [@main.case_2.branch_0, @main.case_2.branch_1]}
// CHECK:      func.func private @main.while_0.condition({{%.*}}: tensor<4xf32>, [[S:%[a-z0-9]+]]: tensor<f32>, [[L:%[a-z0-9]+]]: tensor<f32>) -> tensor<i1>
// CHECK-NEXT: stablehlo.compare LT, [[S]], [[L]]
// CHECK:      func.func private @main.while_0.body
// CHECK:      func.func private @main.case_1.branch_1(
