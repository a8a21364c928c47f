// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @windows
func.func @windows(%pixels: tensor<?x3x9x8xf32>, %sound: tensor<?x5x12xf32>, %x: tensor<?x4xf32>, %mask: tensor<?x?xi64>) {
  %seq = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  // CHECK: %[[FRAMES:.*]] = transformer.uniform_sequences %{{.*}} length 12 : tensor<?x5x12xf32>
  %frames = transformer.uniform_sequences %sound length 12 : tensor<?x5x12xf32>
  // CHECK: transformer.token_columns %[[FRAMES]] : tensor<?xi64>
  %columns = transformer.token_columns %frames : tensor<?xi64>
  // CHECK: transformer.patches %{{.*}}, %{{.*}} sizes [4, 2] first 1 : tensor<?x3x9x8xf32> -> tensor<?x24xf32>
  %0 = transformer.patches %pixels, %seq sizes [4, 2] first 1 : tensor<?x3x9x8xf32> -> tensor<?x24xf32>
  // CHECK: transformer.patches %{{.*}}, %[[FRAMES]] sizes [1] first 0 : tensor<?x5x12xf32> -> tensor<?x5xf32>
  %1 = transformer.patches %sound, %frames sizes [1] first 0 : tensor<?x5x12xf32> -> tensor<?x5xf32>
  // CHECK: transformer.windows %{{.*}}, %{{.*}} -> %[[FRAMES]] kernel 3 stride 2 padding 1 : tensor<?x4xf32> -> tensor<?x12xf32>
  %2 = transformer.windows %x, %seq -> %frames kernel 3 stride 2 padding 1 : tensor<?x4xf32> -> tensor<?x12xf32>
  return
}
