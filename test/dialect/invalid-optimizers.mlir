// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%p: tensor<4x8xf32>, %r: tensor<4x1xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>) {
  // expected-error @below {{expected moments 'tensor<4x1xf32>', 'tensor<1x8xf32>', found 'tensor<4x1xf32>', 'tensor<4x1xf32>'}}
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %r : tensor<4x1xf32>, tensor<4x1xf32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<4x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>) {
  // expected-error @below {{expected moments 'tensor<4x1xf32>', 'tensor<1x8xf32>', found 'tensor<4x8xf32>'}}
  %0, %1 = transformer.adafactor_update %p moments(%p : tensor<4x8xf32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<8xf32>, %r: tensor<1xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>) {
  // expected-error @below {{expected moments 'tensor<8xf32>', found 'tensor<1xf32>', 'tensor<8xf32>'}}
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %p : tensor<1xf32>, tensor<8xf32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<8xf32>
  return
}

// -----

func.func @f(%p: tensor<2x4x8xf32>, %r: tensor<2x4x1xf32>, %c: tensor<1x1x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>) {
  // expected-error @below {{expected moments 'tensor<2x4x1xf32>', 'tensor<2x1x8xf32>', found 'tensor<2x4x1xf32>', 'tensor<1x1x8xf32>'}}
  %0, %1:2 = transformer.adafactor_update %p moments(%r, %c : tensor<2x4x1xf32>, tensor<1x1x8xf32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<2x4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<f32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>) {
  // expected-error @below {{expected a parameter of one dimension or more, found 'tensor<f32>'}}
  %0, %1 = transformer.adafactor_update %p moments(%p : tensor<f32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<f32>
  return
}

// -----

func.func @f(%p: tensor<4x8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>, %i: index) {
  // expected-error @below {{expected the first of its rows and the one behind the last, found 1 numbers}}
  %0:3 = transformer.adamw_update %p, %p, %p, %p, %scale step %t rate %x betas(%x, %x) epsilon %x decay %x rows(%i) : tensor<4x8xf32>
  return
}

// -----

func.func @f(%p: tensor<4x8xf32>, %scale: tensor<f32>, %x: tensor<f64>, %i: index) {
  // expected-error @below {{expected the first of its rows and the one behind the last, found 3 numbers}}
  %0:2 = transformer.sgd_update %p, %p, %p, %scale rate %x momentum %x decay %x rows(%i, %i, %i) : tensor<4x8xf32>
  return
}
