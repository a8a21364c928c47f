"""Checks what Winograd's inner product is given (codegen/Winograd.h): scales that are powers of two,
corrections, zeros behind the last k; that the steps then sum to x times w; and the scales of features,
by the sample of squares that they come from."""
import numpy as np

import nests
from checks import arch, check, check_parts, garbage, normal, part_text, random, rows_of_sizes, run_checks

panel = nests.vector_lanes(arch)
STEP = 6


def scale_of(values):
    """2^-e of values, [count, k], whose root mean square is in [2^e, 2^(e + 1)), e in [-126, 126]."""
    rms = np.sqrt((values.astype(np.float64) ** 2).mean(1))
    with np.errstate(divide="ignore"):
        return np.exp2(-np.clip(np.floor(np.log2(rms)), -126, 126))


def steps_of(scaled):
    """Scaled values, [count, k], as steps [count, steps, 6], and what their pairs correct."""
    count, k = scaled.shape
    steps = np.zeros((count, -(-k // STEP) * STEP))
    steps[:, :k] = scaled
    steps = steps.reshape(count, -(-k // STEP), STEP)
    return steps, (steps[:, :, 3] * steps[:, :, 4] - steps[:, :, 0] * steps[:, :, 1]).sum(1)


def close(found, wanted, magnitude):
    """Within what sums of k products in float32 may be off."""
    return bool((np.abs(found - wanted) <= 4e-7 * magnitude).all())


def pair_magnitude(steps):
    return 1 + np.abs(steps[:, :, 3] * steps[:, :, 4]).sum(1) + np.abs(steps[:, :, 0] * steps[:, :, 1]).sum(1)


def feature_scales(k):
    """Powers of two around 1."""
    return np.exp2(random.integers(-8, 9, k)).astype(np.float32)


def rows_text(k):
    return f"""
func.func @rows{k}(%x: memref<?x{k}xf32, strided<[?, 1], offset: ?>>, %t: memref<{k}xf32>, %y: memref<?x{1 - -k // STEP}x6xf32>, %s: memref<?x{panel}xf32>) {{
  transformer_cpu.winograd_rows ins(%x, %t) outs(%y, %s) : (memref<?x{k}xf32, strided<[?, 1], offset: ?>>, memref<{k}xf32>, memref<?x{1 - -k // STEP}x6xf32>, memref<?x{panel}xf32>) -> ()
  return
}}"""


def check_rows():
    widths = sorted({1, 2, 5, 6, 7, 12, 3 * panel, 3 * panel + 1, 47, 48, 49, 100, 768})
    library = nests.build("".join(rows_text(k) for k in widths), arch)

    def run(k, x, scales=None):
        scales = np.ones(k, np.float32) if scales is None else scales
        y = garbage(len(x), 1 - -k // STEP, STEP)
        inverse = garbage(len(x), panel)
        nests.call(library[f"rows{k}"], x, scales, y, inverse)
        return y, inverse

    for k in widths:
        for count in (0, 1, 37):
            x = rows_of_sizes(count, k + 9)[:, 3 : 3 + k]  # columns of something wider
            scales = feature_scales(k)
            y, inverse = run(k, x, scales)
            scale = scale_of(x * scales)
            steps, correction = steps_of(x * scales * scale[:, None])
            ok = np.array_equal(y[:, 1:], steps) and np.array_equal(inverse, np.repeat(1 / scale[:, None], panel, 1))
            ok &= np.array_equal(y[:, 0, :5], np.tile([0, 0, 1, 0, 0], (count, 1)))
            ok &= close(y[:, 0, 5], correction, pair_magnitude(steps))
            if count > 5:
                alone, one = run(k, x[5:6], scales)
                ok &= np.array_equal(alone[0], y[5]) and np.array_equal(one[0], inverse[5])
            check(f"winograd_rows {k} rows {count}", bool(ok))
    finite = [0, 1e-30, 1e30, 2.0**-126, 3e38]
    special = np.zeros((len(finite) + 2, 48), np.float32)
    special[: len(finite)] = np.array(finite, np.float32)[:, None]
    special[-2, 7], special[-1, 9] = np.nan, np.inf
    y, inverse = run(48, special)
    ok = not y[0, 1:].any() and y[0, 0, 5] == 0 and np.isfinite(y[:-2]).all() and np.isfinite(inverse).all()
    for row in range(1, len(finite)):
        ok &= np.array_equal(y[row, 1:].reshape(-1) * inverse[row, 0], special[row])
        ok &= 1 <= y[row, 1, 0] < 4  # the largest row is 2^127.8, the largest scale 2^126
    check("winograd_rows of zeros, extremes and none", bool(ok and not np.isfinite(y[-2]).all() and not np.isfinite(y[-1]).all()))
    # Numbers of one sign: the terms of the correction must not add up before they cancel.
    x = (3 + random.standard_normal((16, 3072))).astype(np.float32)
    library = nests.build(rows_text(3072), arch)
    y, _ = run(3072, x)
    exact = steps_of(x * scale_of(x)[:, None])[1]
    worst = float(np.abs(y[:, 0, 5] - exact).max())
    check("winograd_rows of one sign", worst < 2e-5, f"largest error of the correction {worst:.1e}")


def check_panels():
    shapes = [(1, 1), (panel, 6), (panel + 1, 7), (5 * panel - 1, 47), (3 * panel, 100), (31 * panel, 13)]
    cases = [(f"w{i}{layout}", n, k, layout) for i, (n, k) in enumerate(shapes) for layout in ("out_in", "in_out")]
    text = ""
    for name, n, k, layout in cases:
        outs = f"memref<{2 + -(-n // panel)}x{1 - -k // STEP}x6x{panel}xf32>"
        a, b = ((f"memref<{m}x{k}xf32>" if layout == "out_in" else f"memref<{k}x{m}xf32>") for m in (2 * panel, n))
        text += f"""
func.func @{name}(%a: {a}, %b: {b}, %t: memref<{k}xf32>, %y: {outs}) {{
  transformer_cpu.pack_weight {layout} ins(%a, %b) scales(%t) outs(%y) : ({a}, {b}, memref<{k}xf32>, {outs}) -> ()
  return
}}""" + part_text(f"{name}part", layout, {"%a": a, "%b": b, "%t": f"memref<{k}xf32>"}, f"{1 - -k // STEP}x6x{panel}xf32", "%t")
    library = nests.build(text, arch)
    for name, n, k, layout in cases:
        weights = [rows_of_sizes(m, k) for m in (2 * panel, n)]
        scales = feature_scales(k)
        y = garbage(2 + -(-n // panel), 1 - -k // STEP, STEP, panel)
        given = [w if layout == "out_in" else np.ascontiguousarray(w.T) for w in weights]
        nests.call(library[name], *given, scales, y)
        w = np.concatenate([*weights, np.zeros((-n % panel, k), np.float32)]) / scales
        columns = y.transpose(0, 3, 1, 2).reshape(-1, 1 - -k // STEP, STEP)
        scale = scale_of(w)
        steps, correction = steps_of(w * scale[:, None])
        ok = np.array_equal(columns[:, 1:], steps) and np.array_equal(columns[:, 0, 0], 1 / scale)
        ok &= np.array_equal(columns[:, 0, [1, 3, 4, 5]], np.tile([0, 0, 0, 1], (len(w), 1)))
        ok &= close(columns[:, 0, 2], correction, pair_magnitude(steps))
        # The identity itself: all steps of a row of x and a column of w.
        x = random.standard_normal((4, k))
        rows, of_rows = steps_of(x)
        rows = np.concatenate([np.tile([0, 0, 1, 0, 0, 0], (4, 1, 1)), rows], 1)
        rows[:, 0, 5] = of_rows
        p, q = rows[:, None].transpose(3, 0, 1, 2), columns[None].astype(np.float64).transpose(3, 0, 1, 2)
        found = ((p[0] + q[1]) * (p[1] + q[0]) + p[2] * q[2] - (q[4] - p[3]) * (q[3] - p[4]) + p[5] * q[5]).sum(-1)
        wanted = x @ (w * scale[:, None]).astype(np.float64).T
        check(f"winograd panels {layout} {k}x{n}", bool(ok) and close(found, wanted, k + 1))
        check(f"winograd panels {layout} {k}x{n} by parts", check_parts(nests.call, library[f"{name}part"], y, *given, scales))


SAMPLE = 32


def sampled(matrix, dim, factors=None):
    """The terms of sample_squares, [lines, I], of one matrix."""
    lines = (matrix if dim == 1 else matrix.T).astype(np.float64)
    if dim == 1:
        chosen = np.arange(0, len(lines), -(-len(lines) // SAMPLE))
    else:
        lanes = min(panel, len(lines))
        vectors = min(-(-len(lines) // panel), max(1, SAMPLE // panel))
        starts = [i * (len(lines) - lanes) // max(1, vectors - 1) for i in range(vectors)]
        chosen = np.concatenate([np.arange(s, s + lanes) for s in starts])
    lines = lines[chosen]
    mean = (lines**2).mean(1, keepdims=True)
    factor = 1 / mean if factors is None else factors[chosen][:, None].astype(np.float64)
    return np.where(lines == 0, mean, lines**2) * factor


def check_samples():
    shapes = [(1, 1), (5, 7), (32, 3), (33, 48), (200, 30), (30, 200), (768, 384)]
    cases = [(f"s{i}d{dim}f{int(given)}", shape, dim, given) for i, shape in enumerate(shapes) for dim in (0, 1) for given in (False, True)]
    text = "".join(f"""
func.func @{name}(%a: memref<{a}x{b}xf32>, %f: memref<{(b, a)[dim]}xf32>, %y: memref<{(a, b)[dim]}xf32>) {{
  transformer_cpu.sample_squares ins(%a) {"factors(%f) " * given}outs(%y) {{dim = {dim} : i64}} : (memref<{a}x{b}xf32>, {f"memref<{(b, a)[dim]}xf32>, " * given}memref<{(a, b)[dim]}xf32>) -> ()
  return
}}""" for name, (a, b), dim, given in cases)
    library = nests.build(text, arch)
    for name, (a, b), dim, given in cases:
        matrix = normal(a, b)
        matrix[random.random((a, b)) < 0.2] = 0
        (matrix if dim == 1 else matrix.T)[:, 0] = 1  # no line of zeros
        factors = random.random((b, a)[dim]).astype(np.float32)
        y = garbage((a, b)[dim])
        nests.call(library[name], matrix, factors, y)
        wanted = sampled(matrix, dim, factors if given else None).mean(0)
        check(f"sample_squares {a}x{b} dim {dim}{' factors' * given}", np.allclose(y, wanted, rtol=1e-4))


def check_scales():
    k, n = 100, 3 * panel + 5
    kinds = {"out_in": f"memref<{n}x{k}xf32>", "in_out": f"memref<{k}x{n}xf32>"}
    text = "".join(f"""
func.func @{layout}{given}(%a: {kind}, %b: {kind}, %s: memref<{k}xf32>, %y: memref<{k}xf32>) {{
  transformer_cpu.winograd_scales {layout} ins(%a, %b) {"squares(%s) " * given}outs(%y) : ({kind}, {kind}, {f"memref<{k}xf32>, " * given}memref<{k}xf32>) -> ()
  return
}}""" for layout, kind in kinds.items() for given in (0, 1))
    library = nests.build(text, arch)

    def scales(layout, a, b, squares):
        given = squares is not None
        y = garbage(k)
        a, b = ((w if layout == "out_in" else np.ascontiguousarray(w.T)) for w in (a, b))
        nests.call(library[f"{layout}{int(given)}"], a, b, squares if given else y.copy(), y)
        return y

    sizes = np.exp2(random.integers(-5, 6, k))
    a, b = ((random.choice([-1, 1], (n, k)) * sizes * np.exp2(random.integers(-20, 20, (n, 1)))).astype(np.float32) for _ in range(2))
    squares = (random.choice([1, 2.0**12], k)).astype(np.float32)
    for layout in kinds:
        for given in (None, squares):
            ratio = 2 * np.log2(sizes) - (0 if given is None else np.log2(squares))
            exponents = (ratio - ratio.mean()) / 8
            wanted = 4 ** np.floor(exponents + 0.5)
            found = scales(layout, a, b, given)
            near = np.abs(exponents - np.floor(exponents) - 0.5) < 0.02  # either neighbour
            check(f"winograd_scales {layout}{'' if given is None else ' squares'}", bool((near | (found == wanted)).all() and (found != 1).any()))
        # Pruned weights tell as little as equal ones; nor do lines that are no numbers.
        pruned = (random.standard_normal((n, k)) * (random.random((n, k)) < 0.01)).astype(np.float32)
        check(f"winograd_scales {layout} of pruned weights", bool((scales(layout, pruned, pruned, None) == 1).all()))
        bad = normal(n, k)
        bad[0, 0], bad[panel, 1] = np.nan, np.inf
        check(f"winograd_scales {layout} beside lines that are no numbers", bool((scales(layout, bad, bad, None) == 1).all()))
        check(f"winograd_scales {layout} of zeros", bool((scales(layout, 0 * a, 0 * a, None) == 1).all()))


run_checks(check_rows, check_panels, check_samples, check_scales)
