// RUN: transformer-opt %s | transformer-opt | FileCheck %s
// RUN: transformer-opt %s --mlir-print-op-generic | transformer-opt | FileCheck %s

// CHECK-LABEL: func @sequences
func.func @sequences(%ids: tensor<?x?xi64>, %types: tensor<?x?xi64>, %mask: tensor<?x?xi64>, %x: tensor<?x3xf32>) {
  // CHECK: %[[IDS:.*]]:2, %[[SEQ:.*]] = transformer.pack_tokens(%{{.*}}, %{{.*}}) mask(%{{.*}}) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  %i, %t, %seq = transformer.pack_tokens(%ids, %types) mask(%mask) : (tensor<?x?xi64>, tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>, tensor<?xi64>
  // Only the sequences.
  // CHECK: transformer.pack_tokens() mask(%{{.*}}) : tensor<?x?xi64>{{$}}
  %only = transformer.pack_tokens() mask(%mask) : tensor<?x?xi64>
  // CHECK: transformer.unpack_tokens %{{.*}}, %[[SEQ]] : tensor<?x3xf32> -> tensor<?x?x3xf32>
  %y = transformer.unpack_tokens %x, %seq : tensor<?x3xf32> -> tensor<?x?x3xf32>
  // CHECK: transformer.unpack_tokens %{{.*}}, %[[SEQ]] {column = 2 : i64} : tensor<?x3xf32> -> tensor<?x?xf32>
  %c = transformer.unpack_tokens %x, %seq {column = 2 : i64} : tensor<?x3xf32> -> tensor<?x?xf32>
  // CHECK: transformer.first_token %{{.*}}, %[[SEQ]] : tensor<?x3xf32> -> tensor<?x3xf32>
  %f = transformer.first_token %x, %seq : tensor<?x3xf32> -> tensor<?x3xf32>
  return
}
