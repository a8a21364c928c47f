// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%w: memref<?x5xf32>, %y: memref<2x5x16xf32>) {
  // expected-error @below {{expected weight 0 of static sizes, found 'memref<?x5xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<?x5xf32>, memref<2x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x5xf32>, %y: memref<?x5x16xf32>) {
  // expected-error @below {{expected panels of static sizes, found 'memref<?x5x16xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<17x5xf32>, memref<?x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x5xf32>, %y: memref<2x17x16xf32>) {
  // expected-error @below {{expected panels of ?x5x?xf32, found 'memref<2x17x16xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<17x5xf32>, memref<2x17x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x5xf32>, %y: memref<3x5x16xf32>) {
  // expected-error @below {{expected whole panels of 16 outputs before weight 1, found 17 outputs}}
  transformer_cpu.pack_weight out_in ins(%w, %w) outs(%y) : (memref<17x5xf32>, memref<17x5xf32>, memref<3x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x5xf32>, %y: memref<1x5x16xf32>) {
  // expected-error @below {{expected 2 panels for 17 outputs, found 1}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<17x5xf32>, memref<1x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<1x5x16xf32>) {
  // expected-error @below {{expected at least one weight, found none}}
  "transformer_cpu.pack_weight"(%y) <{layout = #transformer<weight_layout out_in>, operandSegmentSizes = array<i32: 0, 0, 0, 1>}> : (memref<1x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x5xf32>, %t: memref<5xf32>, %y: memref<2x5x16xf32>) {
  // expected-error @below {{expected panels of ?x2x6x?xf32, found 'memref<2x5x16xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%t) outs(%y) : (memref<17x5xf32>, memref<5xf32>, memref<2x5x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %t: memref<7xf32>, %y: memref<2x2x6x16xf32>) {
  // expected-error @below {{expected panels of ?x3x6x?xf32, found 'memref<2x2x6x16xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%t) outs(%y) : (memref<17x7xf32>, memref<7xf32>, memref<2x2x6x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17xf32>, %t: memref<7xf32>, %y: memref<2x2x6x16xf32>) {
  // expected-error @below {{expected weight 0 of ?x?xf32, found 'memref<17xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%t) outs(%y) : (memref<17xf32>, memref<7xf32>, memref<2x2x6x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x?xf32>, %t: memref<7xf32>, %y: memref<2x2x6x16xf32>) {
  // expected-error @below {{expected weight 0 of static sizes, found 'memref<17x?xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%t) outs(%y) : (memref<17x?xf32>, memref<7xf32>, memref<2x2x6x16xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x7xf32>, %t: memref<7xf32>, %y: memref<?x2x6xf32>, %s: memref<?x16xf32>) {
  // expected-error @below {{expected scaled rows of ?x3x6xf32, found 'memref<?x2x6xf32>'}}
  transformer_cpu.winograd_rows ins(%x, %t) outs(%y, %s) : (memref<?x7xf32>, memref<7xf32>, memref<?x2x6xf32>, memref<?x16xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x7xf32>, %t: memref<7xf32>, %y: memref<?x3x6xf32>, %s: memref<16xf32>) {
  // expected-error @below {{expected inverse scales of ?x?xf32, found 'memref<16xf32>'}}
  transformer_cpu.winograd_rows ins(%x, %t) outs(%y, %s) : (memref<?x7xf32>, memref<7xf32>, memref<?x3x6xf32>, memref<16xf32>) -> ()
  return
}

// -----

func.func @f(%x: memref<?x7xf32>, %t: memref<6xf32>, %y: memref<?x3x6xf32>, %s: memref<?x16xf32>) {
  // expected-error @below {{expected scales of 7xf32, found 'memref<6xf32>'}}
  transformer_cpu.winograd_rows ins(%x, %t) outs(%y, %s) : (memref<?x7xf32>, memref<6xf32>, memref<?x3x6xf32>, memref<?x16xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %t: memref<17xf32>, %y: memref<2x3x6x16xf32>) {
  // expected-error @below {{expected scales of 7xf32, found 'memref<17xf32>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%t) outs(%y) : (memref<17x7xf32>, memref<17xf32>, memref<2x3x6x16xf32>) -> ()
  return
}

// -----

func.func @f(%x: tensor<?x7xf32>, %s: tensor<8xf32>) {
  // expected-error @below {{expected squares of 7xf32, found 'tensor<8xf32>'}}
  %0 = transformer_cpu.estimated %x squares(%s) : tensor<?x7xf32>, tensor<8xf32>
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %y: memref<7xf32>) {
  // expected-error @below {{expected dim 0 or 1, found 2}}
  transformer_cpu.sample_squares ins(%w) outs(%y) {dim = 2 : i64} : (memref<17x7xf32>, memref<7xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<?x7xf32>, %y: memref<7xf32>) {
  // expected-error @below {{expected a matrix of static sizes, found 'memref<?x7xf32>'}}
  transformer_cpu.sample_squares ins(%w) outs(%y) {dim = 1 : i64} : (memref<?x7xf32>, memref<7xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %f: memref<7xf32>, %y: memref<7xf32>) {
  // expected-error @below {{expected factors of 17xf32, found 'memref<7xf32>'}}
  transformer_cpu.sample_squares ins(%w) factors(%f) outs(%y) {dim = 1 : i64} : (memref<17x7xf32>, memref<7xf32>, memref<7xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %y: memref<17xf32>) {
  // expected-error @below {{expected an out of 7xf32, found 'memref<17xf32>'}}
  transformer_cpu.sample_squares ins(%w) outs(%y) {dim = 1 : i64} : (memref<17x7xf32>, memref<17xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %y: memref<17xf32>) {
  // expected-error @below {{expected weight 0 of ?x17xf32, found 'memref<17x7xf32>'}}
  transformer_cpu.winograd_scales out_in ins(%w) outs(%y) : (memref<17x7xf32>, memref<17xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x7xf32>, %s: memref<17xf32>, %y: memref<7xf32>) {
  // expected-error @below {{expected squares of 7xf32, found 'memref<17xf32>'}}
  transformer_cpu.winograd_scales out_in ins(%w) squares(%s) outs(%y) : (memref<17x7xf32>, memref<17xf32>, memref<7xf32>) -> ()
  return
}

// -----

func.func @f(%y: memref<7xf32>) {
  // expected-error @below {{expected at least one weight, found none}}
  "transformer_cpu.winograd_scales"(%y) <{layout = #transformer<weight_layout out_in>, operandSegmentSizes = array<i32: 0, 0, 1>}> : (memref<7xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<17x?xf32>, %y: memref<7xf32>) {
  // expected-error @below {{expected weight 0 of static sizes, found 'memref<17x?xf32>'}}
  transformer_cpu.winograd_scales out_in ins(%w) outs(%y) : (memref<17x?xf32>, memref<7xf32>) -> ()
  return
}

// -----

func.func @panels_of_f64(%w: memref<17x5xf32>, %y: memref<2x5x16xf64>) {
  // expected-error @below {{expected panels of f32, bf16, i8 or i32, found 'memref<2x5x16xf64>'}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<17x5xf32>, memref<2x5x16xf64>) -> ()
  return
}

// -----

func.func @int8_without_scales(%w: memref<17x5xf32>, %y: memref<2x5x16xi8>) {
  // expected-error @below {{expected scales for 'i8'}}
  transformer_cpu.pack_weight out_in ins(%w) outs(%y) : (memref<17x5xf32>, memref<2x5x16xi8>) -> ()
  return
}

// -----

func.func @bf16_with_scales(%w: memref<17x5xf32>, %s: memref<2x1x16xf32>, %y: memref<2x5x16xbf16>) {
  // expected-error @below {{expected no scales for 'bf16'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%s) outs(%y) : (memref<17x5xf32>, memref<2x1x16xf32>, memref<2x5x16xbf16>) -> ()
  return
}

// -----

func.func @int4_scales_of_others(%w: memref<17x40xf32>, %s: memref<2x1x16xbf16>, %y: memref<2x2x4x16xi32>) {
  // expected-error @below {{expected scales of 2x2x16xbf16, found 'memref<2x1x16xbf16>'}}
  transformer_cpu.pack_weight out_in ins(%w) scales(%s) outs(%y) : (memref<17x40xf32>, memref<2x1x16xbf16>, memref<2x2x4x16xi32>) -> ()
  return
}

// -----

func.func @scales_of_bf16(%w: memref<17x40xf32>, %s: memref<2x1x16xf32>) {
  // expected-error @below {{expected int8 or int4, which have scales, found bf16}}
  transformer_cpu.weight_scales bf16 out_in ins(%w) outs(%s) : (memref<17x40xf32>, memref<2x1x16xf32>) -> ()
  return
}

// -----

func.func @scales_of_few_panels(%w: memref<17x40xf32>, %s: memref<1x1x16xf32>) {
  // expected-error @below {{expected 2 panels for 17 outputs, found 1}}
  transformer_cpu.weight_scales int8 out_in ins(%w) outs(%s) : (memref<17x40xf32>, memref<1x1x16xf32>) -> ()
  return
}

// -----

func.func @int4_rows_of_others(%x: memref<?x40xf32>, %y: memref<?x1x4x9xf32>) {
  // expected-error @below {{expected words of ?x2x4x9xf32, found 'memref<?x1x4x9xf32>'}}
  transformer_cpu.int4_rows ins(%x) outs(%y) : (memref<?x40xf32>, memref<?x1x4x9xf32>) -> ()
  return
}

// -----

func.func @f(%w: memref<16x40xf32>, %s: memref<1x1x16xf32>, %y: memref<1x40x16xi8>, %i: index) {
  // expected-error @below {{expected all panels of integers at once, found 'memref<1x40x16xi8>'}}
  transformer_cpu.pack_weight out_in at %i ins(%w) scales(%s) outs(%y) : (memref<16x40xf32>, memref<1x1x16xf32>, index, memref<1x40x16xi8>) -> ()
  return
}

// -----

func.func @parts_of_other_columns(%w: memref<2x33x32xf32>, %y: memref<2x3x32x16xi32>) {
  // expected-error @below {{expected parts of 2x3x?x32xi32, found 'memref<2x3x32x16xi32>'}}
  transformer_cpu.split_panels ins(%w) outs(%y) : (memref<2x33x32xf32>, memref<2x3x32x16xi32>) -> ()
  return
}

// -----

func.func @parts_of_fewer_inputs(%w: memref<2x33x32xf32>, %y: memref<2x3x16x32xi32>) {
  // expected-error @below {{expected parts of words for 33 inputs, found 'memref<2x3x16x32xi32>'}}
  transformer_cpu.split_panels ins(%w) outs(%y) : (memref<2x33x32xf32>, memref<2x3x16x32xi32>) -> ()
  return
}

// -----

func.func @words_of_all_panels(%w: memref<2x33x32xf32>, %y: memref<2x3x16x32xi32>, %i: index) {
  // expected-error @below {{expected a first panel with a first word}}
  transformer_cpu.split_panels words %i ins(%w) outs(%y) : (memref<2x33x32xf32>, index, memref<2x3x16x32xi32>) -> ()
  return
}

// -----

func.func @panels_of_any_size(%w: memref<?x33x32xf32>, %y: memref<2x3x32x32xi32>) {
  // expected-error @below {{expected panels of static sizes, found 'memref<?x33x32xf32>'}}
  transformer_cpu.split_panels ins(%w) outs(%y) : (memref<?x33x32xf32>, memref<2x3x32x32xi32>) -> ()
  return
}

// -----

func.func @inside_of_all_words(%w: memref<2x33x32xf32>, %y: memref<2x3x32x32xi32>) {
  // expected-error @below {{expected a first word of words that are inside}}
  transformer_cpu.split_panels inside ins(%w) outs(%y) : (memref<2x33x32xf32>, memref<2x3x32x32xi32>) -> ()
  return
}

// -----

func.func @f(%a: memref<?x3xi32>, %b: memref<?x32xf32>, %c: memref<7x32xf32>, %s: memref<1x?x8xi32>, %p: memref<1x?x32xi32>) {
  // expected-error @below {{expected words for 7 features, found 'memref<?x3xi32>'}}
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (memref<?x3xi32>, memref<?x32xf32>, memref<7x32xf32>, memref<1x?x8xi32>, memref<1x?x32xi32>) -> ()
  return
}

// -----

func.func @f(%a: memref<?x4xi32>, %b: memref<?x32xf32>, %c: memref<7x32xf32>, %s: memref<1x?x8xf32>, %p: memref<1x?x32xf32>) {
  // expected-error @below {{expected a of ?x7xf32, found 'memref<?x4xi32>'}}
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : (memref<?x4xi32>, memref<?x32xf32>, memref<7x32xf32>, memref<1x?x8xf32>, memref<1x?x32xf32>) -> ()
  return
}
