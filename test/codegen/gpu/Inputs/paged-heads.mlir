// Caches of heads of several sizes and masks, with biases: what kernels that read pages are made for.
transformer.parameter @a.q : tensor<7x256xf32>
transformer.parameter @a.kv : tensor<7x128xf32>
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

func.func @step(
    %ids: tensor<?x?xi64> {transformer.name = "input_ids", transformer.range = array<i64: 0, 7>, transformer.dims = ["batch", "length"]},
    %mask: tensor<?x?xi64> {transformer.name = "attention_mask", transformer.dims = ["batch", "length"]},
    %table: tensor<?x?xi64> {transformer.name = "page_table", transformer.below = "pages", transformer.dims = ["batch", "pages_of_sequence"]},
    %lengths: tensor<?xi64> {transformer.name = "key_lengths", transformer.dims = ["batch"]},
    %a.cache: tensor<?x128x128xf32> {transformer.state = "a.cache", transformer.dims = ["pages"]},
    %b.cache: tensor<?x128x128xf32> {transformer.state = "b.cache", transformer.dims = ["pages"]},
    %c.cache: tensor<?x128x256xf32> {transformer.state = "c.cache", transformer.dims = ["pages"]},
    %d.cache: tensor<?x128x15xf32> {transformer.state = "d.cache", transformer.dims = ["pages"]},
    %e.cache: tensor<?x128x192xf32> {transformer.state = "e.cache", transformer.dims = ["pages"]})
    -> (tensor<?x128x128xf32> {transformer.state = "a.cache", transformer.dims = ["pages"]},
        tensor<?x128x128xf32> {transformer.state = "b.cache", transformer.dims = ["pages"]},
        tensor<?x128x256xf32> {transformer.state = "c.cache", transformer.dims = ["pages"]},
        tensor<?x128x15xf32> {transformer.state = "d.cache", transformer.dims = ["pages"]},
        tensor<?x128x192xf32> {transformer.state = "e.cache", transformer.dims = ["pages"]},
        tensor<?x?x256xf32> {transformer.name = "a", transformer.dims = ["batch", "length"]},
        tensor<?x?x128xf32> {transformer.name = "b", transformer.dims = ["batch", "length"]},
        tensor<?x?x256xf32> {transformer.name = "c", transformer.dims = ["batch", "length"]},
        tensor<?x?x15xf32> {transformer.name = "d", transformer.dims = ["batch", "length"]},
        tensor<?x?x192xf32> {transformer.name = "e", transformer.dims = ["batch", "length"]})
    attributes {transformer.entry} {
  %i, %seq = transformer.pack_tokens(%ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %a.q = transformer.get_parameter @a.q : tensor<7x256xf32>
  %a.kv = transformer.get_parameter @a.kv : tensor<7x128xf32>
  %a.rows = transformer.embedding %i, %a.q : tensor<?xi64>, tensor<7x256xf32> -> tensor<?x256xf32>
  %a.memory = transformer.embedding %i, %a.kv : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %a.new = transformer.append_pages %a.memory, %a.memory, %a.cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 2 : i64} : tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x128x128xf32>
  %a.y = transformer.paged_attention %a.rows, %a.new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal>
      {num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.125 : f64} : tensor<?x256xf32>, tensor<?x128x128xf32> -> tensor<?x256xf32>
  %a.grid = transformer.unpack_tokens %a.y, %seq : tensor<?x256xf32> -> tensor<?x?x256xf32>
  %b.q = transformer.get_parameter @b.q : tensor<7x128xf32>
  %b.kv = transformer.get_parameter @b.kv : tensor<7x128xf32>
  %b.rows = transformer.embedding %i, %b.q : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %b.memory = transformer.embedding %i, %b.kv : tensor<?xi64>, tensor<7x128xf32> -> tensor<?x128xf32>
  %b.new = transformer.append_pages %b.memory, %b.memory, %b.cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 1 : i64} : tensor<?x128xf32>, tensor<?x128xf32>, tensor<?x128x128xf32>
  %b.y = transformer.paged_attention %b.rows, %b.new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal>
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?x128xf32>, tensor<?x128x128xf32> -> tensor<?x128xf32>
  %b.grid = transformer.unpack_tokens %b.y, %seq : tensor<?x128xf32> -> tensor<?x?x128xf32>
  %c.q = transformer.get_parameter @c.q : tensor<7x256xf32>
  %c.kv = transformer.get_parameter @c.kv : tensor<7x256xf32>
  %c.rows = transformer.embedding %i, %c.q : tensor<?xi64>, tensor<7x256xf32> -> tensor<?x256xf32>
  %c.memory = transformer.embedding %i, %c.kv : tensor<?xi64>, tensor<7x256xf32> -> tensor<?x256xf32>
  %c.new = transformer.append_pages %c.memory, %c.memory, %c.cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 1 : i64} : tensor<?x256xf32>, tensor<?x256xf32>, tensor<?x128x256xf32>
  %c.y = transformer.paged_attention %c.rows, %c.new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) options<causal, window = 40>
      {num_heads = 1 : i64, num_kv_heads = 1 : i64, scale = 0.125 : f64} : tensor<?x256xf32>, tensor<?x128x256xf32> -> tensor<?x256xf32>
  %c.grid = transformer.unpack_tokens %c.y, %seq : tensor<?x256xf32> -> tensor<?x?x256xf32>
  %d.q = transformer.get_parameter @d.q : tensor<7x15xf32>
  %d.kv = transformer.get_parameter @d.kv : tensor<7x15xf32>
  %d.bias = transformer.get_parameter @d.bias : tensor<3x9xf32>
  %d.rows = transformer.embedding %i, %d.q : tensor<?xi64>, tensor<7x15xf32> -> tensor<?x15xf32>
  %d.memory = transformer.embedding %i, %d.kv : tensor<?xi64>, tensor<7x15xf32> -> tensor<?x15xf32>
  %d.new = transformer.append_pages %d.memory, %d.memory, %d.cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 3 : i64} : tensor<?x15xf32>, tensor<?x15xf32>, tensor<?x128x15xf32>
  %d.y = transformer.paged_attention %d.rows, %d.new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) position_bias(%d.bias : tensor<3x9xf32>) options<causal>
      {num_heads = 3 : i64, num_kv_heads = 3 : i64, scale = 0.125 : f64} : tensor<?x15xf32>, tensor<?x128x15xf32> -> tensor<?x15xf32>
  %d.grid = transformer.unpack_tokens %d.y, %seq : tensor<?x15xf32> -> tensor<?x?x15xf32>
  %e.q = transformer.get_parameter @e.q : tensor<7x192xf32>
  %e.kv = transformer.get_parameter @e.kv : tensor<7x192xf32>
  %e.bias = transformer.get_parameter @e.bias : tensor<2xf32>
  %e.rows = transformer.embedding %i, %e.q : tensor<?xi64>, tensor<7x192xf32> -> tensor<?x192xf32>
  %e.memory = transformer.embedding %i, %e.kv : tensor<?xi64>, tensor<7x192xf32> -> tensor<?x192xf32>
  %e.new = transformer.append_pages %e.memory, %e.memory, %e.cache sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)
      {num_heads = 2 : i64} : tensor<?x192xf32>, tensor<?x192xf32>, tensor<?x128x192xf32>
  %e.y = transformer.paged_attention %e.rows, %e.new sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>) position_bias(%e.bias : tensor<2xf32>) 
      {num_heads = 2 : i64, num_kv_heads = 2 : i64, scale = 0.125 : f64} : tensor<?x192xf32>, tensor<?x128x192xf32> -> tensor<?x192xf32>
  %e.grid = transformer.unpack_tokens %e.y, %seq : tensor<?x192xf32> -> tensor<?x?x192xf32>
  return %a.new, %b.new, %c.new, %d.new, %e.new, %a.grid, %b.grid, %c.grid, %d.grid, %e.grid
      : tensor<?x128x128xf32>, tensor<?x128x128xf32>, tensor<?x128x256xf32>, tensor<?x128x15xf32>, tensor<?x128x192xf32>, tensor<?x?x256xf32>, tensor<?x?x128xf32>, tensor<?x?x256xf32>, tensor<?x?x15xf32>, tensor<?x?x192xf32>
}
