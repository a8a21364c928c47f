"""Attention's loop nests beside numpy in double precision, float32 and, in matrix registers, of bfloat16: sequences of
any length, masks, biases, caches in pages. A row's bits depend on nothing but the row and its sequence."""
import sys
from pathlib import Path

import numpy as np

import nests
from checks import arch, check, garbage, gpu, normal, offsets, random, run_checks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import quantize  # noqa: E402


def attention_text(heads, groups, dim, options, cross, factor, bias, stride, scale):
    strided = f"strided<[{stride}, 1], offset: ?>"
    q, kv = f"memref<?x{heads * dim}xf32, {strided}>", f"memref<?x{groups * dim}xf32, {strided}>"
    out, sums = f"memref<?x{heads * dim}xf32>", f"memref<?x{heads}xf32>"
    keys = "%ck" if cross else "%cq"
    table = f"memref<{heads}x{BIAS}xf32>" if bias != "slopes" else f"memref<{heads}xf32>"
    more = bool("window" in options or bias) # log_sum_exp too
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

    arch, rounding = arch, ""

    def __init__(self, heads, groups, dim, scale, causal=False, window=0, cross=False, factor=False, bias=None):
        self.heads, self.groups, self.dim, self.causal, self.window, self.cross = heads, groups, dim, causal, window, cross
        self.stride = (heads + 2 * groups) * dim + 3
        self.scale, self.factor = scale, 0.7 if factor else 1.0
        options = ", ".join(["causal"] * causal + [f"window = {window}"] * bool(window) + [self.rounding] * bool(self.rounding))
        self.sums = window > 0 or bias is not None
        self.slopes = bias == "slopes"
        self.bias = np.abs(normal(heads)) * np.float32(0.1) if self.slopes or self.text is paged_text else normal(heads, BIAS)
        self.biased = bias is not None
        self.function = nests.build(self.text(heads, groups, dim, options, cross, factor, bias, self.stride, scale), self.arch)["a"]

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

    def rounded(self, p, scores):
        """What values are multiplied by."""
        return p

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
                p = self.rounded(p, s)
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
    ok, rarely = True, 0
    if attention.rounding:  # a weight between two bfloat16 goes to either, one of 2**13 at 2**-22 of error
        bound[:] = 4e-6
        rarely = 2**-8 * 4  # what that changes, and in how many rows
        weights = attention.heads * sum(n * m for n, m in zip(queries, keys))
        ok = (errors > bound).any(1).sum() <= 3 + 4 * weights * 2**-13
    if attention.sums:  # a score is a sum of dim products, each of about 1, and log_sum_exp shows it
        bound[-attention.heads :] += 2**-24 * abs(attention.scale) * attention.dim
    ok &= (errors <= bound + rarely).all()
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


class RoundedAttention(Attention):
    """Of bfloat16, in matrix registers: powers of two lessened by whole numbers are rounded."""

    arch, rounding = "sapphirerapids", "bf16"

    def rows(self, count):
        return quantize.to_bf16(super().rows(count))

    def rounded(self, p, scores):
        some = np.isfinite(scores).any(1)
        least = np.ceil(np.where(some, scores.max(1), 0) / np.log(2))[:, None]  # to the base of 2
        largest = np.where(some, scores.max(1), 0)[:, None]
        exact = np.exp2(scores / np.log(2) - least)
        return quantize.to_bf16(exact.astype(np.float32)).astype(p.dtype) * np.exp2(least - largest / np.log(2))


def check_rounded_attention():
    if arch != "x86-64-v4" or not nests.allows_matrices():
        return
    for i, (heads, groups, dim, scale) in enumerate([(2, 2, 5, 0.4), (2, 1, 16, 0.3), (2, 2, 64, 0.125), (1, 1, 80, 0.11), (2, 1, 128, 0.088)]):
        for number, (mode, settings) in enumerate(MODES.items()):
            if number > 2 and i % 5 != number % 5:
                continue
            attention = RoundedAttention(heads, groups, dim, scale, factor=i % 2 == 1, **settings)
            for queries in [[1], [7, 0, 3, 16, 33, 1], [66, 5, 131], [64, 1100, 9, 2]][: 4 if i in (1, 2) else 3]:
                check_lengths(attention, f"bf16 attention {mode} {heads}/{groups}x{dim}", queries)


def chunk_of(attention):
    """The same attention whose keys have sequences of their own."""
    if attention.cross:
        return attention
    if not hasattr(attention, "chunked"):
        a = attention
        bias = None if not a.biased else "slopes" if a.slopes else "table"
        a.chunked = type(a)(a.heads, a.groups, a.dim, a.scale, a.causal, a.window, True, a.factor != 1.0, bias)
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


run_checks(check_attention, check_rounded_attention, check_pages)
