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


parts = (check_packing, check_sinusoids, check_norm, check_rms_norm, check_embedding, check_rotary)
if not gpu:
    parts += (check_weights,)
run_checks(*parts)
