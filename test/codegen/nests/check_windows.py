"""Compares the nests of patches, windows and disentangled attention, and of the backward of some, with double precision on
random shapes, and checks that a row's bits depend on nothing but the row and its sequence."""
import numpy as np

import nests
from checks import arch, check, garbage, memref, normal, offsets, random, run_checks

# Sequences, patches, windows ----------------------------------------------------


def check_sequences():
    function = nests.build("""
func.func @f(%cu: memref<?xindex>, %rows: memref<?xindex>, %columns: memref<?xi64>) {
  %length = arith.constant 7 : index
  transformer_kernel.uniform_sequences length 7 outs(%cu, %rows) : (memref<?xindex>, memref<?xindex>) -> ()
  transformer_kernel.token_columns ins(%rows, %length) outs(%columns) : (memref<?xindex>, index, memref<?xi64>) -> ()
  return
}""", arch)["f"]
    for batch in (0, 1, 5):
        cu, rows, columns = np.full(batch + 1, -7), np.full(7 * batch, -7), np.full(7 * batch, -7)
        nests.call(function, cu, rows, columns)
        ok = np.array_equal(cu, 7 * np.arange(batch + 1)) and np.array_equal(rows, np.arange(7 * batch))
        check(f"uniform_sequences {batch}", bool(ok and np.array_equal(columns, np.arange(7 * batch) % 7)))


def check_patches():
    for shape, sizes, first in (((3, 12, 8), (4, 4), 1), ((1, 9, 9), (3, 3), 0), ((2, 13, 21), (4, 2), 2), ((5, 6), (1,), 0), ((4, 50), (17,), 1)):
        lines, columns = shape[1] if len(shape) == 3 else 1, shape[-1]
        down, across = sizes if len(sizes) == 2 else (1, *sizes)
        width, length = shape[0] * down * across, first + (lines // down) * (columns // across)
        x, rows = memref(None, *shape), memref(None, width)
        function = nests.build(f"""
func.func @f(%x: {x}, %rows: memref<?xindex>, %y: {rows}) {{
  transformer_kernel.patches ins(%x, %rows) outs(%y) sizes [{", ".join(map(str, sizes))}] first {first} : ({x}, memref<?xindex>, {rows}) -> ()
  return
}}""", arch)["f"]
        for batch, density in ((1, 1), (3, 0.6), (2, 0)):
            images, places = normal(batch, *shape), np.flatnonzero(random.random(batch * length) < density)
            got = garbage(len(places), width)
            nests.call(function, images, places, got)
            cut = images.reshape(batch, shape[0], lines, columns)[:, :, : lines // down * down, : columns // across * across]
            cut = cut.reshape(batch, shape[0], lines // down, down, columns // across, across)
            cut = cut.transpose(0, 2, 4, 1, 3, 5).reshape(batch, length - first, width)
            want = np.concatenate([np.zeros((batch, first, width), np.float32), cut], 1).reshape(-1, width)[places]
            check(f"patches {shape} {sizes} {first}, {len(places)} rows", np.array_equal(got, want))


def check_windows():
    for width, kernel, stride, padding in ((5, 3, 1, 1), (16, 3, 2, 1), (33, 2, 1, 0), (8, 5, 3, 4), (7, 1, 1, 0)):
        x, y = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>", memref(None, kernel * width)
        function = nests.build(f"""
func.func @f(%x: {x}, %cu: memref<?xindex>, %to: memref<?xindex>, %y: {y}) {{
  transformer_kernel.windows ins(%x, %cu, %to) outs(%y) stride {stride} padding {padding} : ({x}, memref<?xindex>, memref<?xindex>, {y}) -> ()
  return
}}""", arch)["f"]
        for lengths in ([1], [7, 0, 3, 16, 1], [66, 0, 0, 131], [0]):
            results = [max(0, (n + 2 * padding - kernel) // stride + 1) if n else 0 for n in lengths]
            x, y = normal(sum(lengths), width + 3)[:, :width], garbage(sum(results), kernel * width)
            nests.call(function, x, offsets(lengths), offsets(results), y)
            want = [np.zeros((0, kernel * width), np.float32)]
            for first, n, count in zip(offsets(lengths), lengths, results):
                padded = np.pad(x[first : first + n], ((padding, padding + kernel * stride), (0, 0)))
                want += [padded[i * stride : i * stride + kernel].reshape(1, -1) for i in range(count)]
            check(f"windows {width} {kernel} {stride} {padding} {lengths}", np.array_equal(y, np.concatenate(want)))


def check_windows_gradient():
    for width, kernel, stride, padding in ((5, 3, 1, 1), (16, 3, 2, 1), (33, 2, 3, 0), (8, 5, 3, 4)):
        dy, dx = f"memref<?x{kernel * width}xf32, strided<[{kernel * width + 3}, 1]>>", memref(None, width)
        function = nests.build(f"""
func.func @f(%dy: {dy}, %windows: memref<?xindex>, %cu: memref<?xindex>, %dx: {dx}) {{
  transformer_kernel.windows_gradient ins(%dy, %windows, %cu) outs(%dx) stride {stride} padding {padding} : ({dy}, memref<?xindex>, memref<?xindex>, {dx}) -> ()
  return
}}""", arch)["f"]
        for lengths, counts in (([1], [1]), ([7, 0, 3, 16, 1], [2, 0, 9, 20, 0]), ([66, 0, 131], [33, 4, 70]), ([0], [0])):
            dy = normal(sum(counts), kernel * width + 3)[:, : kernel * width]
            dx, want = garbage(sum(lengths), width), np.zeros((sum(lengths), width), np.float32)
            nests.call(function, dy, offsets(counts), offsets(lengths), dx)
            for first, n, row, count in zip(offsets(lengths), lengths, offsets(counts), counts):
                for i in range(count):
                    for j, token in enumerate(range(i * stride - padding, i * stride - padding + kernel)):
                        if 0 <= token < n:
                            want[first + token] += dy[row + i, j * width : (j + 1) * width]
            check(f"windows_gradient {width} {kernel} {stride} {padding} {lengths}", np.array_equal(dx, want))


# Disentangled attention -----------------------------------------------------------


def check_relative_scores():
    for heads, dim, positions in ((1, 5, 3), (2, 8, 64), (3, 20, 97), (2, 64, 512), (1, 1, 1)):
        width = heads * dim
        x, table, y = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>", memref(positions, width), memref(None, heads * positions)
        function = nests.build(f"""
func.func @f(%x: {x}, %t: {table}, %y: {y}) {{
  transformer_kernel.relative_scores ins(%x, %t) outs(%y) {{num_heads = {heads} : i64}} : ({x}, {table}, {y}) -> ()
  return
}}""", arch)["f"]
        for rows in (0, 1, 37, 150):
            x, table, y = normal(rows, width + 3)[:, :width], normal(positions, width), garbage(rows, heads * positions)
            nests.call(function, x, table, y)
            by_head = [a.reshape(-1, heads, dim).astype(np.float64) for a in (x, table)]
            want = np.einsum("thd,phd->thp", *by_head).reshape(rows, heads * positions)
            error, ok = np.abs(y - want).max(initial=0), True
            if rows:
                one = garbage(1, heads * positions)  # a row alone
                nests.call(function, x[rows // 2 :][:1], table, one)
                ok = np.array_equal(one[0], y[rows // 2])
            check(f"relative_scores {heads}x{dim} {positions}, {rows} rows", bool(ok and error < 1e-6 * dim), f"error {error:.1e}")


def check_relative_scores_gradient():
    for heads, dim, positions in ((1, 5, 3), (3, 20, 97), (2, 64, 200), (1, 1, 1)):
        width = heads * dim
        x, table = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>", memref(positions, width)
        dx, dy = memref(None, width), memref(None, heads * positions)
        function = nests.build(f"""
func.func @f(%x: {x}, %t: {table}, %dy: {dy}, %dx: {dx}, %dt: {table}) {{
  transformer_kernel.relative_scores_gradient ins(%x, %t, %dy) outs(%dx, %dt) {{num_heads = {heads} : i64}} : ({x}, {table}, {dy}, {dx}, {table}) -> ()
  return
}}""", arch)["f"]
        for rows in (0, 1, 37, 200):
            x, table, dy = normal(rows, width + 3)[:, :width], normal(positions, width), normal(rows, heads * positions)
            dx, dtable = garbage(rows, width), garbage(positions, width)
            nests.call(function, x, table, dy, dx, dtable)
            xs, entries, scores = (a.reshape(len(a), heads, a.shape[1] // heads).astype(np.float64) for a in (x, table, dy))
            wanted = np.einsum("thp,phd->thd", scores, entries), np.einsum("thp,thd->phd", scores, xs)
            error = max(np.abs(got - want.reshape(got.shape)).max(initial=0) for got, want in zip((dx, dtable), wanted))
            ok = True
            if rows:
                one, last = garbage(1, width), rows // 2  # a row alone
                nests.call(function, x[last:][:1], table, dy[last:][:1], one, garbage(positions, width))
                ok = np.array_equal(one[0], dx[last])
            check(f"relative_scores_gradient {heads}x{dim} {positions}, {rows} rows", bool(ok and error < 1e-6 * max(rows, positions)), f"error {error:.1e}")


class Disentangled:
    def __init__(self, heads, dim, positions, columns, query, key, causal, cross):
        self.heads, self.dim, self.positions, self.columns = heads, dim, positions, columns
        self.query, self.key, self.causal, self.cross = query, key, causal, cross
        rows, scores, keys = memref(None, heads * dim), memref(None, heads * positions), "%ck" if cross else "%cq"
        of_query, of_key = ("query_scores(%qs)" if query else ""), ("key_scores(%ks)" if key else "")
        self.function = nests.build(f"""
func.func @f(%q: {rows}, %k: {rows}, %v: {rows}, %cq: memref<?xindex>, %ck: memref<?xindex>, %qs: {scores}, %ks: {scores}, %c: memref<{len(columns)}xi32>, %o: {rows}) {{
  transformer_kernel.attention ins(%q, %k, %v, %cq, {keys}) {of_query} {of_key} columns(%c) outs(%o)
    {"options<causal>" if causal else ""} {{num_heads = {heads} : i64, num_kv_heads = {heads} : i64, scale = 0.3 : f64}}
    : ({rows}, {rows}, {rows}, memref<?xindex>, memref<?xindex>, {f"{scores}, " * (query + key)}memref<{len(columns)}xi32>, {rows}) -> ()
  return
}}""", arch)["f"]

    def __call__(self, q, k, v, queries, keys, of_queries, of_keys):
        out = garbage(*q.shape)
        nests.call(self.function, q, k, v, offsets(queries), offsets(keys), of_queries, of_keys, self.columns, out)
        return out

    def exact(self, q, k, v, queries, keys, of_queries, of_keys, real):
        out, reach = np.zeros(q.shape, real), len(self.columns) // 2
        q, k, v, of_queries, of_keys = (x.astype(real) for x in (q, k, v, of_queries, of_keys))
        for a, n, b, m in zip(offsets(queries), queries, offsets(keys), keys):
            distance = np.arange(m)[None, :] - (np.arange(n) + m - n)[:, None]
            column = self.columns[np.clip(distance + reach, 0, 2 * reach)]
            seen = distance <= 0 if self.causal else np.full(distance.shape, True)
            for h in range(self.heads):
                c, p = slice(h * self.dim, (h + 1) * self.dim), slice(h * self.positions, (h + 1) * self.positions)
                s = q[a : a + n, c] @ k[b : b + m, c].T
                if self.query:
                    s = s + np.take_along_axis(of_queries[a : a + n, p], column, 1)
                if self.key:
                    s = s + np.take_along_axis(of_keys[b : b + m, p], column.T, 1).T
                s = np.where(seen, s * real(0.3), -np.inf)
                some = seen.any(1)
                weights = np.exp(s - np.where(some, s.max(1, initial=-np.inf), 0)[:, None])
                total = np.where(some, weights.sum(1), 1)
                out[a : a + n, c] = weights @ v[b : b + m, c] / total[:, None]
        return out


def check_disentangled():
    modes = [(True, True, False, False), (True, False, False, True), (False, True, True, False), (True, True, True, True)]
    for (heads, dim, positions, reach), mode in zip(((2, 5, 9, 3), (3, 16, 20, 40), (1, 12, 7, 200), (2, 64, 64, 33)), modes):
        columns = np.sort(random.integers(0, positions, 2 * reach + 1)).astype(np.int32)[::-1].copy()
        attention = Disentangled(heads, dim, positions, columns, *mode)
        for queries in ([1], [7, 0, 3, 16, 17, 1], [66, 5, 131], [30, 600, 9]):
            keys = [int(n) for n in random.permutation(queries)] if attention.cross else queries
            tokens, others = sum(queries), sum(keys)
            q, k, v = normal(tokens, heads * dim), normal(others, heads * dim), normal(others, heads * dim)
            scores = normal(tokens, heads * positions), normal(others, heads * positions)
            got = attention(q, k, v, queries, keys, *scores)
            want, plain = (attention.exact(q, k, v, queries, keys, *scores, real) for real in (np.float64, np.float32))
            error, reference = (np.abs(x - want).max() for x in (got, plain))
            ok = error <= 4 * reference + 1e-7
            for b, (n, m) in enumerate(zip(queries, keys)):  # alone
                rows, memory = (slice(start[b], start[b + 1]) for start in (offsets(queries), offsets(keys)))
                alone = attention(q[rows], k[memory], v[memory], [n], [m], scores[0][rows], scores[1][memory])
                ok &= np.array_equal(alone, got[rows])
            check(f"disentangled {heads}x{dim} {mode} {queries}", bool(ok), f"error {error:.1e} (numpy float32 {reference:.1e})")


run_checks(check_sequences, check_patches, check_windows, check_relative_scores, check_disentangled, check_windows_gradient,
           check_relative_scores_gradient)
