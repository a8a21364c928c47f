// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @optimizers
func.func @optimizers(%p: tensor<4x8xf32>, %r: tensor<4x1xf32>, %c: tensor<1x8xf32>, %v: tensor<8xf32>, %scale: tensor<f32>, %t: tensor<i64>, %x: tensor<f64>, %i: index, %rows: tensor<?x8xf32>) {
  // CHECK: transformer.sum_squares %{{.*}} : tensor<4x8xf32>
  %squares = transformer.sum_squares %p : tensor<4x8xf32>
  // CHECK: transformer.clip_grad_norm %{{.*}} to %{{.*}}
  %norm, %clip = transformer.clip_grad_norm %squares to %x
  // CHECK: transformer.adamw_update %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} step %{{.*}} rate %{{.*}} betas(%{{.*}}, %{{.*}}) epsilon %{{.*}} decay %{{.*}} : tensor<4x8xf32>
  %0:3 = transformer.adamw_update %p, %p, %p, %p, %scale step %t rate %x betas(%x, %x) epsilon %x decay %x : tensor<4x8xf32>
  // CHECK: transformer.adamw_update %{{.*}} decay %{{.*}} rows(%{{.*}}, %{{.*}}) {skippable} : tensor<?x8xf32>
  %rows0:3 = transformer.adamw_update %rows, %rows, %rows, %rows, %scale step %t rate %x betas(%x, %x) epsilon %x decay %x rows(%i, %i) {skippable} : tensor<?x8xf32>
  // CHECK: transformer.sgd_update %{{.*}} decay %{{.*}} rows(%{{.*}}, %{{.*}}) : tensor<4x8xf32>
  %rows1:2 = transformer.sgd_update %p, %p, %p, %scale rate %x momentum %x decay %x rows(%i, %i) : tensor<4x8xf32>
  // CHECK: transformer.sgd_update %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} rate %{{.*}} momentum %{{.*}} decay %{{.*}} : tensor<8xf32>
  %1:2 = transformer.sgd_update %v, %v, %v, %scale rate %x momentum %x decay %x : tensor<8xf32>
  // CHECK: transformer.adafactor_update %{{.*}} moments(%{{.*}}, %{{.*}} : tensor<4x1xf32>, tensor<1x8xf32>) %{{.*}}, %{{.*}} step %{{.*}} rate %{{.*}} beta2_decay %{{.*}} eps(%{{.*}}, %{{.*}}) clip_threshold %{{.*}} decay %{{.*}} : tensor<4x8xf32>
  %2, %3:2 = transformer.adafactor_update %p moments(%r, %c : tensor<4x1xf32>, tensor<1x8xf32>) %p, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<4x8xf32>
  // CHECK: transformer.adafactor_update %{{.*}} moments(%{{.*}} : tensor<8xf32>) {{.*}} : tensor<8xf32>
  %4, %5 = transformer.adafactor_update %v moments(%v : tensor<8xf32>) %v, %scale
      step %t rate %x beta2_decay %x eps(%x, %x) clip_threshold %x decay %x : tensor<8xf32>
  return
}
