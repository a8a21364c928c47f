// RUN: transformer-opt %s --transformer-cpu-outline-parallel -verify-diagnostics

func.func @tensors(%y: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{must be bufferised before it is outlined}}
  %0 = scf.forall (%i) in (4) shared_outs(%o = %y) -> tensor<4xf32> {
    %1 = tensor.extract_slice %o[%i] [1] [1] : tensor<4xf32> to tensor<1xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %1 into %o[%i] [1] [1] : tensor<1xf32> into tensor<4xf32>
    }
  }
  return %0 : tensor<4xf32>
}
