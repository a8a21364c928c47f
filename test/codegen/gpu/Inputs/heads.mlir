// Heads of several sizes and masks, with biases: what attention's kernels are made for.
transformer.parameter @a.q : tensor<7x128xf32>
transformer.parameter @a.kv : tensor<7x64xf32>
transformer.parameter @b.q : tensor<7x128xf32>
transformer.parameter @b.kv : tensor<7x128xf32>
transformer.parameter @c.q : tensor<7x256xf32>
transformer.parameter @c.kv : tensor<7x256xf32>
transformer.parameter @d.q : tensor<7x15xf32>
transformer.parameter @d.kv : tensor<7x15xf32>
transformer.parameter @d.bias : tensor<3x9xf32>
transformer.parameter @e.q : tensor<7x192xf32>
transformer.parameter @e.kv : tensor<7x192xf32>
transformer.parameter @e.bias : tensor<2xf32>

func.func @forward(
    %ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 7>, transformer.dims = ["batch", "length"]},
    %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.dims = ["batch", "length"]})
    -> (tensor<?x?x128xf32> {transformer.name = "a", transformer.dims = ["batch", "length"]},
        tensor<?x?x128xf32> {transformer.name = "b", transformer.dims = ["batch", "length"]},
        tensor<?x?x256xf32> {transformer.name = "c", transformer.dims = ["batch", "length"]},
        tensor<?x?x15xf32> {transformer.name = "d", transformer.dims = ["batch", "length"]},
        tensor<?x?x192xf32> {transformer.name = "e", transformer.dims = ["batch", "length"]})
    attributes {transformer.entry} {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %a.q = transformer.get_parameter @a.q : tensor<7x128xf32>
  %a.kv = transformer.get_parameter @a.kv : tensor<7x64xf32>
  %a.rows = transformer.embedding %i, %a.q : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %a.memory = transformer.embedding %i, %a.kv : tensor<?xi64>, tensor<7x64xf32> -> tensor<?x64xf32>
  %a.y = transformer.attention %a.rows, %a.memory, %a.memory sequences(%seq, %seq) options<causal>
      {num_heads = 2 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?x128xf32>, tensor<?x64xf32>, tensor<?x64xf32> -> tensor<?x128xf32>
  %a.grid = transformer.unpack_tokens %a.y, %seq : tensor<?x128xf32> -> tensor<?x?x128xf32>
  %b.q = transformer.get_parameter @b.q : tensor<7x128xf32>
  %b.kv = transformer.get_parameter @b.kv : tensor<7x128xf32>
  %b.rows = transformer.embedding %i, %b.q : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %b.memory = transformer.embedding %i, %b.kv : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %b.y = transformer.attention %b.rows, %b.memory, %b.memory sequences(%seq, %seq) options<causal, window = 9>
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x128xf32> -> tensor<?x128xf32>
  %b.grid = transformer.unpack_tokens %b.y, %seq : tensor<?x128xf32> -> tensor<?x?x128xf32>
  %c.q = transformer.get_parameter @c.q : tensor<7x256xf32>
  %c.kv = transformer.get_parameter @c.kv : tensor<7x256xf32>
  %c.rows = transformer.embedding %i, %c.q : tensor<?xi64>, tensor<7x256xf32> -> tensor<?x256xf32>
  %c.memory = transformer.embedding %i, %c.kv : tensor<?xi64>, tensor<7x256xf32> -> tensor<?x256xf32>
  %c.y = transformer.attention %c.rows, %c.memory, %c.memory sequences(%seq, %seq)
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x256xf32> -> tensor<?x256xf32>
  %c.grid = transformer.unpack_tokens %c.y, %seq : tensor<?x256xf32> -> tensor<?x?x256xf32>
  %d.q = transformer.get_parameter @d.q : tensor<7x15xf32>
  %d.kv = transformer.get_parameter @d.kv : tensor<7x15xf32>
  %d.bias = transformer.get_parameter @d.bias : tensor<3x9xf32>
  %d.rows = transformer.embedding %i, %d.q : tensor<?xi64>, tensor<7x15xf32> -> tensor<?x15xf32>
  %d.memory = transformer.embedding %i, %d.kv : tensor<?xi64>, tensor<7x15xf32> -> tensor<?x15xf32>
  %d.y = transformer.attention %d.rows, %d.memory, %d.memory sequences(%seq, %seq) position_bias(%d.bias : tensor<3x9xf32>)
      {num_heads = 3 : i64, num_kv_heads = 3 : i64, scale = 0.125 : f64} : tensor<?x15xf32>, tensor<?x15xf32>, tensor<?x15xf32> -> tensor<?x15xf32>
  %d.grid = transformer.unpack_tokens %d.y, %seq : tensor<?x15xf32> -> tensor<?x?x15xf32>
  %e.q = transformer.get_parameter @e.q : tensor<7x192xf32>
  %e.kv = transformer.get_parameter @e.kv : tensor<7x192xf32>
  %e.bias = transformer.get_parameter @e.bias : tensor<2xf32>
  %e.rows = transformer.embedding %i, %e.q : tensor<?xi64>, tensor<7x192xf32> -> tensor<?x192xf32>
  %e.memory = transformer.embedding %i, %e.kv : tensor<?xi64>, tensor<7x192xf32> -> tensor<?x192xf32>
  %e.y = transformer.attention %e.rows, %e.memory, %e.memory sequences(%seq, %seq) position_bias(%e.bias : tensor<2xf32>) options<causal>
      {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.125 : f64} : tensor<?x192xf32>, tensor<?x192xf32>, tensor<?x192xf32> -> tensor<?x192xf32>
  %e.grid = transformer.unpack_tokens %e.y, %seq : tensor<?x192xf32> -> tensor<?x?x192xf32>
  return %a.grid, %b.grid, %c.grid, %d.grid, %e.grid
      : tensor<?x?x128xf32>, tensor<?x?x128xf32>, tensor<?x?x256xf32>, tensor<?x?x15xf32>, tensor<?x?x192xf32>
}
