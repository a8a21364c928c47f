"""Compares the loop nests of the kernels with double precision on random shapes
and checks that a row's bits depend on nothing but the row and its sequence."""
import numpy as np

import nests
from checks import arch, check, check_parts, garbage, gpu, normal, offsets, part_text, random, run_checks

lanes = nests.vector_lanes(arch)
panel = 2 * lanes


# Layer norm, embedding -------------------------------------------------------


def exact_norm(x, gamma, beta, eps, unbiased, outside):
    x = x.astype(np.float64)
    variance = x.var(-1, keepdims=True, ddof=int(unbiased))
    d = np.sqrt(variance) + eps if outside else np.sqrt(variance + eps)
    return (x - x.mean(-1, keepdims=True)) / d * gamma + beta


def norm_text(name, width, options, residual, total):
    rows, vector = f"memref<?x{width}xf32>", f"memref<{width}xf32>"
    return f"""
func.func @{name}(%x: {rows}, %r: {rows}, %g: {vector}, %b: {vector}, %y: {rows}, %s: {rows}) {{
  "transformer_kernel.layer_norm"(%x, {"%r, " * residual}%g, %b, %y{", %s" * total}) <{{norm = #transformer.norm<{options}>, operandSegmentSizes = array<i32: 1, {int(residual)}, 1, 1, {1 + total}>}}>
    : ({rows}, {(rows + ", ") * residual}{vector}, {vector}, {rows}{(", " + rows) * total}) -> ()
  return
}}"""


def check_norm():
    cases = []
    for i, width in enumerate([1, 3, 5, 8, 16, 33, 48, 64, 100, 768, 1030]):
        residual, total = i % 3 > 0, i % 3 == 2
        unbiased, outside = i % 2 == 1, i % 4 == 1
        options = "eps = 1.0e-5" + ", unbiased" * unbiased + ", eps_outside" * outside
        cases.append((f"norm{width}", width, options, residual, total, unbiased, outside))
    library = nests.build("".join(norm_text(*c[:5]) for c in cases), arch)
    for name, width, _, residual, total, unbiased, outside in cases:
        for rows in (0, 1, 37):
            x, r, g, b = normal(rows, width) + 3, normal(rows, width), normal(width), normal(width)
            y, s = garbage(rows, width), garbage(rows, width)
            nests.call(library[name], x, r, g, b, y, s)
            summed = x + r if residual else x
            want = exact_norm(summed, g, b, 1e-5, unbiased, outside)
            error = np.abs(y - want).max(initial=0)
            ok = error < 4e-6 or width < 8
            if total:
                ok &= np.array_equal(s, summed)
            one = garbage(1, width)  # a row alone
            if rows:
                nests.call(library[name], x[5:6], r[5:6], g, b, one, garbage(1, width))
                ok &= np.array_equal(one[0], y[5], equal_nan=True) if rows > 5 else True
            alias = x.copy()
            nests.call(library[name], alias, r, g, b, alias, s)
            ok &= np.array_equal(alias, y, equal_nan=True)
            check(f"layer_norm {width} rows {rows}", bool(ok), f"error {error:.1e}")


def check_rms_norm():
    for i, width in enumerate([1, 5, 16, 33, 100, 768, 1030]):
        residual, total = i % 3 > 0, i % 3 == 2
        rows, vector = f"memref<?x{width}xf32>", f"memref<{width}xf32>"
        text = f"""
func.func @n(%x: {rows}, %r: {rows}, %g: {vector}, %y: {rows}, %s: {rows}) {{
  transformer_kernel.layer_norm ins(%x{" residual(%r)" * residual}, %g) outs(%y{", %s" * total}) norm<eps = 1.0e-6> {{rms}}
    : ({rows}, {(rows + ", ") * residual}{vector}, {rows}{(", " + rows) * total}) -> ()
  return
}}"""
        function = nests.build(text, arch)["n"]
        for count in (0, 1, 37):
            x, r, g = normal(count, width) + 3, normal(count, width), normal(width)
            y, s = garbage(count, width), garbage(count, width)
            nests.call(function, x, r, g, y, s)
            summed = (x + r if residual else x).astype(np.float64)
            want = summed / np.sqrt((summed**2).mean(1, keepdims=True) + 1e-6) * g
            error = np.abs(y - want).max(initial=0)
            ok = error < 2e-6 and (not total or np.array_equal(s, x + r))
            alias = x.copy()
            nests.call(function, alias, r, g, alias, s)
            ok &= np.array_equal(alias, y)
            check(f"rms_norm {width} rows {count}", bool(ok), f"error {error:.1e}")
    for heads, width in ((2, 5), (3, 16), (4, 100)):  # of heads; rows may be strided
        rows, vector = f"memref<?x{heads * width}xf32, strided<[{heads * width + 7}, 1]>>", f"memref<{width}xf32>"
        text = f"""
func.func @n(%x: {rows}, %g: {vector}, %y: {rows}) {{
  transformer_kernel.layer_norm ins(%x, %g) outs(%y) norm<eps = 1.0e-6> {{rms}} : ({rows}, {vector}, {rows}) -> ()
  return
}}"""
        function = nests.build(text, arch)["n"]
        for count in (0, 1, 37):
            x, y = (make(count, heads * width + 7)[:, : heads * width] for make in (normal, garbage))
            g = normal(width)
            nests.call(function, x, g, y)
            parts = x.astype(np.float64).reshape(count, heads, width)
            want = (parts / np.sqrt((parts**2).mean(2, keepdims=True) + 1e-6) * g).reshape(count, heads * width)
            error = np.abs(y - want).max(initial=0)
            check(f"rms_norm {heads} heads of {width} rows {count}", bool(error < 2e-6), f"error {error:.1e}")


def check_embedding():
    for width, count, norm in ((5, 1, False), (16, 2, False), (100, 3, True), (768, 3, True)):
        rows, table, vector = f"memref<?x{width}xf32>", f"memref<50x{width}xf32>", f"memref<{width}xf32>"
        names = range(count)
        scales = [8.0 if i == 0 else 1.0 for i in names]
        text = f"""
func.func @e({", ".join(f"%i{i}: memref<?xi64>, %t{i}: {table}" for i in names)}, %g: {vector}, %b: {vector}, %y: {rows}) {{
  transformer_kernel.embedding ids({", ".join(f"%i{i}" for i in names)}) tables({", ".join(f"%t{i}" for i in names)})
    {"norm(%g, %b) <eps = 1.0e-12>" if norm else ""} outs(%y) {{scales = array<f64: {", ".join(map(str, scales))}>}}
    : ({", ".join(["memref<?xi64>"] * count + [table] * count + [vector] * (2 * norm) + [rows])}) -> ()
  return
}}"""
        library = nests.build(text, arch)
        for tokens in (0, 1, 53):
            ids = [random.integers(0, 50, tokens) for _ in names]
            tables = [normal(50, width) for _ in names]
            g, b, y = normal(width), normal(width), garbage(tokens, width)
            nests.call(library["e"], *[a for pair in zip(ids, tables) for a in pair], g, b, y)
            want = sum(s * t[i].astype(np.float64) for s, t, i in zip(scales, tables, ids))
            if norm:
                want = exact_norm(want, g, b, 1e-12, False, False)
            error = np.abs(y - want).max(initial=0)
            check(f"embedding {width}x{count} tokens {tokens}", error < 4e-6, f"error {error:.1e}")


# Packing ---------------------------------------------------------------------


def check_packing():
    text = """
func.func @count(%m: memref<?x?xi64>) -> index {
  %n = transformer_kernel.count_tokens %m : memref<?x?xi64>
  return %n : index
}
func.func @pack(%m: memref<?x?xi64>, %a: memref<?x?xi64>, %cu: memref<?xindex>, %rows: memref<?xindex>, %p: memref<?xi64>) {
  transformer_kernel.pack_tokens ins(%m, %a) outs(%cu, %rows, %p)
    : (memref<?x?xi64>, memref<?x?xi64>, memref<?xindex>, memref<?xindex>, memref<?xi64>) -> ()
  return
}
func.func @unpack(%x: memref<?x21xf32>, %rows: memref<?xindex>, %y: memref<?x?x21xf32>, %c: memref<?x?xf32>) {
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%y) : (memref<?x21xf32>, memref<?xindex>, memref<?x?x21xf32>) -> ()
  transformer_kernel.unpack_tokens ins(%x, %rows) outs(%c) {column = 3 : i64} : (memref<?x21xf32>, memref<?xindex>, memref<?x?xf32>) -> ()
  return
}
func.func @first(%x: memref<?x21xf32>, %cu: memref<?xindex>, %y: memref<?x21xf32>) {
  transformer_kernel.first_token ins(%x, %cu) outs(%y) : (memref<?x21xf32>, memref<?xindex>, memref<?x21xf32>) -> ()
  return
}"""
    library = nests.build(text, arch)
    for batch, length, density in ((1, 1, 1), (3, 7, 0.5), (4, 700, 0.9), (5, 300, 0.02), (2, 9, 0), (0, 4, 1), (3, 0, 1)):
        mask = (random.random((batch, length)) < density).astype(np.int64)
        ids = random.integers(0, 1000, (batch, length))
        tokens = int(mask.sum())
        cu, rows, packed = np.full(batch + 1, -7), np.full(tokens, -7), np.full(tokens, -7)
        ok = nests.call(library["count"], mask) == tokens
        nests.call(library["pack"], mask, ids, cu, rows, packed)
        places = np.flatnonzero(mask.reshape(-1))
        ok &= np.array_equal(rows, places) and np.array_equal(packed, ids.reshape(-1)[places])
        ok &= np.array_equal(cu, offsets(mask.sum(1)))
        x, y, c, first = normal(tokens, 21), garbage(batch, length, 21), garbage(batch, length), garbage(batch, 21)
        nests.call(library["unpack"], x, rows, y, c)
        want = np.zeros((batch * length, 21), np.float32)
        want[places] = x
        ok &= np.array_equal(y.reshape(-1, 21), want) and np.array_equal(c.reshape(-1), want[:, 3])
        nests.call(library["first"], x, cu, first)
        ok &= all(np.array_equal(first[b], x[cu[b]] if cu[b] < cu[b + 1] else np.zeros(21)) for b in range(batch))
        check(f"packing {batch}x{length} tokens {tokens}", bool(ok))


def check_weights():
    """Panels of weights, [out, in] and [in, out]: widths that no panel and no vector divides."""
    shapes = [(1, 1), (panel, lanes), (panel + 1, lanes + 1), (5 * panel - 1, 3 * lanes - 1), (9 * panel + 3, 70), (31 * panel, 8)]
    cases = [(f"w{i}{layout}", n, k, layout) for i, (n, k) in enumerate(shapes) for layout in ("out_in", "in_out")]
    text = ""
    for name, n, k, layout in cases:
        first, last = 2 * panel, n  # two weights that follow each other
        outs = f"memref<{2 + -(-n // panel)}x{k}x{panel}xf32>"
        a, b = ((f"memref<{m}x{k}xf32>" if layout == "out_in" else f"memref<{k}x{m}xf32>") for m in (first, last))
        text += f"""
func.func @{name}(%a: {a}, %b: {b}, %y: {outs}) {{
  transformer_cpu.pack_weight {layout} ins(%a, %b) outs(%y) : ({a}, {b}, {outs}) -> ()
  return
}}""" + part_text(f"{name}part", layout, {"%a": a, "%b": b}, f"{k}x{panel}xf32")
    library = nests.build(text, arch)
    for name, n, k, layout in cases:
        a, b, y = normal(2 * panel, k), normal(n, k), garbage(2 + -(-n // panel), k, panel)
        given = [w if layout == "out_in" else np.ascontiguousarray(w.T) for w in (a, b)]
        nests.call(library[name], *given, y)
        rows = np.concatenate([a, b, np.zeros((-n % panel, k), np.float32)])
        want = rows.reshape(-1, panel, k).transpose(0, 2, 1)
        check(f"pack_weight {layout} {k}x{n}", np.array_equal(y, want))
        check(f"pack_weight {layout} {k}x{n} by parts", check_parts(nests.call, library[f"{name}part"], y, *given))


def check_sinusoids():
    text = "".join(f"""
func.func @s{width}{layout}(%y: memref<?x{width}xf32>) {{
  "transformer_kernel.sinusoidal_table"(%y) <{{layout = #transformer<sinusoid_layout {layout}>}}> : (memref<?x{width}xf32>) -> ()
  return
}}""" for width in (5, 64) for layout in ("interleaved", "halves"))
    library = nests.build(text, arch)
    for width in (5, 64):
        pairs = (width + 1) // 2
        angle = np.arange(515)[:, None] / np.power(10000.0, 2 * np.arange(pairs) / width)
        for layout in ("interleaved", "halves"):
            want = np.zeros((515, width))
            if layout == "interleaved":
                want[:, 0::2], want[:, 1::2] = np.sin(angle), np.cos(angle)[:, : width // 2]
            else:
                want[:, :pairs], want[:, pairs:] = np.sin(angle), np.cos(angle)[:, : width // 2]
            y = garbage(515, width)
            nests.call(library[f"s{width}{layout}"], y)
            error = nests.ulps(y, want)
            check(f"sinusoidal_table {width} {layout}", error <= 0.501, f"{error:.3f} ulp")


# Rotary embedding ------------------------------------------------------------


def check_rotary():
    for heads, dim, rotated, scale in ((2, 8, 8, 1.0), (3, 20, 20, 1.25), (1, 64, 64, 1.0), (4, 32, 10, 1.0)):
        half, width = rotated // 2, heads * dim
        rows, table = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>", f"memref<?x{rotated}xf32>"
        text = f"""
func.func @t(%p: memref<?xi64>, %f: memref<{half}xf64>, %t: {table}) {{
  transformer_kernel.rotary_table ins(%p, %f) outs(%t) {{scale = {scale} : f64}} : (memref<?xi64>, memref<{half}xf64>, {table}) -> ()
  return
}}
func.func @r(%x: {rows}, %t: {table}, %y: {rows}) {{
  transformer_kernel.rotary_embedding ins(%x, %t) outs(%y) {{num_heads = {heads} : i64}} : ({rows}, {table}, {rows}) -> ()
  return
}}"""
        library = nests.build(text, arch)
        for tokens in (0, 1, 53):
            positions, frequencies = random.integers(0, 3000, tokens), random.standard_normal(half)
            made, x, y = garbage(tokens, rotated), normal(tokens, width + 3)[:, :width], garbage(tokens, width + 3)[:, :width]
            nests.call(library["t"], positions, frequencies, made)
            angle = positions[:, None] * frequencies
            want = scale * np.concatenate([np.cos(angle), np.sin(angle)], 1)
            ok = np.abs(made - want).max(initial=0) < 7e-8
            nests.call(library["r"], x, made, y)
            h = x.astype(np.float64).reshape(tokens, heads, dim)
            c, s, a, b = want[:, None, :half], want[:, None, half:], h[..., :half], h[..., half:rotated]
            exact = np.concatenate([a * c - b * s, b * c + a * s, h[..., rotated:]], 2).reshape(tokens, width)
            ok &= np.abs(y - exact).max(initial=0) < 2e-6
            alias = np.concatenate([x, garbage(tokens, 3)], 1)
            nests.call(library["r"], alias[:, :width], made, alias[:, :width])
            ok &= np.array_equal(alias[:, :width], y)
            check(f"rotary {heads}x{dim} of {rotated}, {tokens} tokens", bool(ok))


# Attention -------------------------------------------------------------------


def attention_text(heads, groups, dim, options, cross, factor, bias, stride, scale):
    strided = f"strided<[{stride}, 1], offset: ?>"
    q, kv = f"memref<?x{heads * dim}xf32, {strided}>", f"memref<?x{groups * dim}xf32, {strided}>"
    out, sums = f"memref<?x{heads * dim}xf32>", f"memref<?x{heads}xf32>"
    keys = "%ck" if cross else "%cq"
    table = f"memref<{heads}x{BIAS}xf32>" if bias != "slopes" else f"memref<{heads}xf32>"
    more = bool(options not in ("", "causal") or bias) # log_sum_exp too
    return f"""
func.func @a(%q: {q}, %k: {kv}, %v: {kv}, %cq: memref<?xindex>, %ck: memref<?xindex>, %f: f32, %b: {table}, %o: {out}, %s: {sums}) {{
  transformer_kernel.attention ins(%q, %k, %v, %cq, {keys} {", scale_factor %f" if factor else ""}) {"position_bias(%b)" if bias else ""} outs(%o{", %s" * more})
    {f"options<{options}>" if options else ""} {{num_heads = {heads} : i64, num_kv_heads = {groups} : i64, scale = {scale} : f64}}
    : ({q}, {kv}, {kv}, memref<?xindex>, memref<?xindex>, {"f32, " * factor}{f"{table}, " if bias else ""}{out}{f", {sums}" * more}) -> ()
  return
}}"""


BIAS = 41  # columns of a table of biases


class Attention:
    text = staticmethod(attention_text)

    def __init__(self, heads, groups, dim, scale, causal=False, window=0, cross=False, factor=False, bias=None):
        self.heads, self.groups, self.dim, self.causal, self.window, self.cross = heads, groups, dim, causal, window, cross
        self.stride = (heads + 2 * groups) * dim + 3
        self.scale, self.factor = scale, 0.7 if factor else 1.0
        options = ", ".join(["causal"] * causal + [f"window = {window}"] * bool(window))
        self.sums = window > 0 or bias is not None
        self.slopes = bias == "slopes"
        self.bias = np.abs(normal(heads)) * np.float32(0.1) if self.slopes or self.text is paged_text else normal(heads, BIAS)
        self.biased = bias is not None
        self.function = nests.build(self.text(heads, groups, dim, options, cross, factor, bias, self.stride, scale), arch)["a"]

    def rows(self, count):
        """Rows with 3 columns of garbage behind q, k and v."""
        return np.concatenate([normal(count, self.stride - 3), garbage(count, 3)], 1)

    def columns(self, rows):
        """q, k, v as columns of merged rows; NaN follows the last row in memory."""
        memory = np.concatenate([rows.reshape(-1), garbage(64)])
        view = memory[: rows.size].reshape(rows.shape)
        h, g = self.heads * self.dim, self.groups * self.dim
        return view[:, :h], view[:, h : h + g], view[:, h + g : h + 2 * g]

    def __call__(self, rows, memory, query_lengths, key_lengths):
        """The result and behind it, where it is made, log_sum_exp."""
        q = self.columns(rows)[0]
        k, v = self.columns(memory)[1:]
        cq, ck = offsets(query_lengths), offsets(key_lengths)
        out, sums = garbage(len(rows), self.heads * self.dim), garbage(len(rows), self.heads)
        nests.call(self.function, q, k, v, cq, ck, self.factor, self.bias, out, sums)
        return np.concatenate([out, sums], 1) if self.sums else out

    def scores(self, scores, head):
        """Scores of one head of one sequence, masked and biased."""
        queries, keys = scores.shape
        distance = np.arange(keys)[None, :] - (np.arange(queries) + keys - queries)[:, None]
        if self.biased and self.slopes:
            scores = scores - self.bias[head].astype(scores.dtype) * np.abs(distance)
        elif self.biased:
            scores = scores + self.bias[head].astype(scores.dtype)[np.clip(distance + BIAS // 2, 0, BIAS - 1)]
        seen = distance <= 0 if self.causal else np.full(distance.shape, True)
        if self.window:
            seen = seen & (np.abs(distance) < self.window)
        return np.where(seen, scores, -np.inf), seen.any(1)

    def exact(self, rows, memory, query_lengths, key_lengths, real=np.float64):
        q = self.columns(rows)[0].astype(real)
        k, v = (x.astype(real) for x in self.columns(memory)[1:])
        cq, ck = offsets(query_lengths), offsets(key_lengths)
        out = np.zeros((len(rows), self.heads * self.dim), real)
        sums = np.full((len(rows), self.heads), -np.inf, real)
        for b in range(len(query_lengths)):
            for h in range(self.heads):
                g = h // (self.heads // self.groups)
                c, cg = slice(h * self.dim, (h + 1) * self.dim), slice(g * self.dim, (g + 1) * self.dim)
                if not key_lengths[b] or not query_lengths[b]:
                    continue
                s = q[cq[b] : cq[b + 1], c] @ k[ck[b] : ck[b + 1], cg].T * real(self.scale * self.factor)
                s, some = self.scores(s, h)
                largest = np.where(some, s.max(1), 0)[:, None]
                p = np.exp(s - largest)
                total = np.where(some, p.sum(1), 1)[:, None]
                out[cq[b] : cq[b + 1], c] = p @ v[ck[b] : ck[b + 1], cg] / total
                sums[cq[b] : cq[b + 1], h] = np.where(some, (largest + np.log(total))[:, 0], -np.inf)
        return np.concatenate([out, sums], 1) if self.sums else out


MODES = {
    "self": {}, "causal": {"causal": True}, "cross": {"cross": True},
    "causal cross": {"causal": True, "cross": True},
    "window": {"window": 9}, "causal window": {"causal": True, "window": 70},
    "causal window cross": {"causal": True, "window": 3, "cross": True}, "window cross": {"window": 20, "cross": True},
    "bias": {"bias": "table"}, "causal bias cross": {"bias": "table", "causal": True, "cross": True},
    "slopes": {"bias": "slopes", "causal": True}, "slopes window cross": {"bias": "slopes", "window": 5, "cross": True},
}


def check_attention():
    shapes = [(2, 2, 5, 0.4), (2, 1, 8, 0.3), (3, 3, 12, 0.3), (4, 2, 16, -0.25), (2, 2, 64, 0.125), (1, 1, 80, 0.11), (2, 2, 128, 0.088)]
    if gpu:
        shapes.append((1, 1, 144, 0.08))  # more than a thread has registers for
    for i, (heads, groups, dim, scale) in enumerate(shapes):
        for number, (mode, settings) in enumerate(MODES.items()):
            if number > 2 and i % 6 != number % 6:  # the time goes into compiling
                continue
            attention = Attention(heads, groups, dim, scale, factor=i % 2 == 1, **settings)
            lengths = [[1], [7, 0, 3, 16, 17, 1], [66, 5, 131], [64, 1100, 9, 2]][: 4 if i in (1, 4) else 3]
            for queries in lengths:
                check_lengths(attention, f"attention {mode} {heads}/{groups}x{dim}", queries)


def check_lengths(attention, name, queries):
    cross, causal = attention.cross, attention.causal
    keys = [int(n) for n in random.permutation(queries)] if cross else queries
    rows, memory = attention.rows(sum(queries)), None
    memory = attention.rows(sum(keys)) if cross else rows
    got = attention(rows, memory, queries, keys)
    want = attention.exact(rows, memory, queries, keys)
    plain = attention.exact(rows, memory, queries, keys, np.float32)
    finite = np.isfinite(want)
    errors, references = (np.abs(np.where(finite, x, 0) - np.where(finite, want, 0)) for x in (got, plain))
    error, reference = errors.max(), references.max()
    bound = np.full(want.shape[1], 4 * reference + 1e-7)  # numpy adds a short row in several chains
    if attention.sums:  # a score is a sum of dim products, each of about 1, and log_sum_exp shows it
        bound[-attention.heads :] += 2**-24 * abs(attention.scale) * attention.dim
    ok = (errors <= bound).all()
    ok &= np.array_equal(np.isfinite(got), finite)
    cq, ck = offsets(queries), offsets(keys)
    for b, n in enumerate(queries):  # alone, and fewer queries of it
        part = (rows[cq[b] : cq[b + 1]], memory[ck[b] : ck[b + 1]])
        alone = attention(*part, [n], [keys[b]])
        ok &= np.array_equal(alone, got[cq[b] : cq[b + 1]])
        for first, last in ((0, n // 2), (n // 3, n), (max(n - 1, 0), n)):
            hidden = n - last if causal else 0  # keys that none of these queries may see
            if first >= last or hidden > keys[b] or (not causal and (attention.window or attention.biased or not cross)):
                continue
            if cross or causal:  # a chunk behind a cache is a cross-attention
                some = chunk_of(attention)(part[0][first:last], part[1][: keys[b] - hidden], [last - first], [keys[b] - hidden])
                ok &= np.array_equal(some, alone[first:last])
    check(f"{name} {queries}", bool(ok), f"error {error:.1e} (numpy float32 {reference:.1e})")


def chunk_of(attention):
    """The same attention whose keys have sequences of their own."""
    if attention.cross:
        return attention
    if not hasattr(attention, "chunked"):
        a = attention
        bias = None if not a.biased else "slopes" if a.slopes else "table"
        a.chunked = Attention(a.heads, a.groups, a.dim, a.scale, a.causal, a.window, True, a.factor != 1.0, bias)
        a.chunked.bias = a.bias
    return attention.chunked


PAGE = 64  # positions


def paged_text(heads, groups, dim, options, cross, factor, bias, stride, scale):
    strided = f"strided<[{stride}, 1], offset: ?>"
    q, kv = f"memref<?x{heads * dim}xf32, {strided}>", f"memref<?x{groups * dim}xf32, {strided}>"
    out, cache = f"memref<?x{heads * dim}xf32>", f"memref<?x{2 * PAGE}x{groups * dim}xf32>"
    slopes, where = f"memref<{heads}xf32>", "memref<?xindex>, memref<?x?xi64>, memref<?xi64>"
    return f"""
func.func @a(%q: {q}, %k: {kv}, %v: {kv}, %cq: memref<?xindex>, %ck: memref<?xindex>, %f: f32, %b: {slopes}, %o: {out}, %cache: {cache}, %t: memref<?x?xi64>, %l: memref<?xi64>) {{
  transformer_kernel.append_pages ins(%k, %v, %ck, %t, %l) outs(%cache) {{num_heads = {groups} : i64}} : ({kv}, {kv}, {where}, {cache}) -> ()
  transformer_kernel.paged_attention ins(%q, %cache, %cq, %t, %l {", scale_factor %f" if factor else ""}) {"position_bias(%b)" if bias else ""} outs(%o)
    options<{options}> {{num_heads = {heads} : i64, num_kv_heads = {groups} : i64, scale = {scale} : f64}}
    : ({q}, {cache}, {where}, {"f32, " * factor}{f"{slopes}, " if bias else ""}{out}) -> ()
  return
}}"""


class PagedAttention(Attention):
    """Keys and values come in two calls into pages that lie anywhere."""

    text = staticmethod(paged_text)

    def __call__(self, rows, memory, query_lengths, key_lengths):
        counts = [-(-n // PAGE) for n in key_lengths]
        table = np.full((len(counts), max(counts) + 1), -1)
        free = random.permutation(sum(counts) + 2)
        for row, count in zip(table, counts):
            row[:count], free = free[:count], free[count:]
        cache = garbage(sum(counts) + 2, 2 * PAGE, self.groups * self.dim)
        before = [n // 3 for n in key_lengths]
        ck = offsets(key_lengths)
        first = np.concatenate([np.arange(c, c + n) for c, n in zip(ck, before)]).astype(int)
        rest = np.setdiff1d(np.arange(len(memory)), first)
        empty, none = [0] * len(counts), garbage(0, self.heads * self.dim)
        self.step(rows[:0], memory[first], empty, before, before, cache, table, none)
        out = garbage(len(rows), self.heads * self.dim)
        new = [n - b for n, b in zip(key_lengths, before)]
        self.step(rows, memory[rest], query_lengths, new, key_lengths, cache, table, out)
        return out

    def step(self, rows, memory, queries, new, lengths, cache, table, out):
        q = self.columns(rows)[0]
        k, v = self.columns(memory)[1:]
        nests.call(self.function, q, k, v, offsets(queries), offsets(new), self.factor, self.bias, out, cache, table, np.array(lengths))


def check_pages():
    shapes = [(2, 1, 5, 0.4, {}), (4, 2, 16, -0.25, {"window": 70}), (3, 3, 12, 0.3, {"bias": "slopes"}), (2, 2, 64, 0.125, {})]
    for i, (heads, groups, dim, scale, settings) in enumerate(shapes):
        attention = PagedAttention(heads, groups, dim, scale, causal=True, cross=True, factor=i % 2 == 1, **settings)
        attention.sums = False
        for queries in ([1], [7, 0, 3, 16, 17, 1], [66, 5, 131], [64, 300, 9, 2]):
            check_lengths(attention, f"paged attention {heads}/{groups}x{dim} {settings}", queries)


# Those that have their own layout or results on a CPU are no others'.
parts = (check_packing, check_sinusoids, check_norm, check_rms_norm, check_embedding, check_rotary, check_attention, check_pages)
if not gpu:
    parts += (check_weights,)
run_checks(*parts)
