// RUN: transformer-opt %s -verify-diagnostics -split-input-file

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 8 tensors in attention, found 2}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected tensor 1 of attention of rank 1, found 'tensor<4x4xf32>'}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %w, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected attention output bias of width 4, found 6}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %n, %c) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{query weight of layout out_in takes rows of width 6, found width 4}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%o, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x6xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected num_heads that divides the width 4, found 3}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 3 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 4 tensors in ffn, found 2}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{down weight of layout out_in takes rows of width 4, found width 6}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%n, %c, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected ffn output bias of width 4, found 6}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %n, %c) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<6x4xf32>, tensor<6xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 4 tensors in norms, found 2}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected gamma of width 4, found 6}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %c, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<6xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected eps >= 0, found}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = -1.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected a result of width 4, found 3}}
  %0 = transformer.encoder_layer relu %x sequences(%s) attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x3xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 6 tensors in norms, found 4}}
  %0 = transformer.decoder_layer relu %x sequences(%s) memory(%x, %s) self_attention(%w, %b, %w, %b, %w, %b, %w, %b) cross_attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 8 tensors in self_attention, found 2}}
  %0 = transformer.decoder_layer relu %x sequences(%s) memory(%x, %s) self_attention(%w, %b) cross_attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>) {
  // expected-error @below {{expected 8 tensors in cross_attention, found 2}}
  %0 = transformer.decoder_layer relu %x sequences(%s) memory(%x, %s) self_attention(%w, %b, %w, %b, %w, %b, %w, %b) cross_attention(%w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x4xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4xf32>, %s: !transformer.sequences, %w: tensor<4x4xf32>, %b: tensor<4xf32>, %n: tensor<6x4xf32>, %o: tensor<4x6xf32>, %c: tensor<6xf32>, %m: tensor<?x6xf32>) {
  // expected-error @below {{expected memory of width 4, found 6}}
  %0 = transformer.decoder_layer relu %x sequences(%s) memory(%m, %s) self_attention(%w, %b, %w, %b, %w, %b, %w, %b) cross_attention(%w, %b, %w, %b, %w, %b, %w, %b) ffn(%w, %b, %w, %b) norms(%b, %b, %b, %b, %b, %b) norm<eps = 0.0> {num_heads = 2 : i64}
      : (tensor<?x4xf32>, !transformer.sequences, tensor<?x6xf32>, !transformer.sequences, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  return
}
