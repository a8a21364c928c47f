"""Checks what Winograd's inner product is given (codegen/Winograd.h): scales that are powers of two,
corrections, zeros behind the last k; and that the steps then sum to x times w."""
import sys

import numpy as np

import nests

arch = sys.argv[1] if len(sys.argv) > 1 else "x86-64-v3"
panel = nests.vector_lanes(arch)
random = np.random.default_rng(0)
failures = 0
STEP = 6


def check(what, ok, note=""):
    global failures
    failures += not ok
    print(f"{what}: {note}{'' if ok else '  FAILED'}")


def scale_of(values):
    """2^-e of values, [count, k], whose root mean square is in [2^e, 2^(e + 1)), e in [-63, 63]."""
    rms = np.sqrt((values.astype(np.float64) ** 2).mean(1))
    with np.errstate(divide="ignore"):
        return np.exp2(-np.clip(np.floor(np.log2(rms)), -63, 63))


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


def check_rows():
    widths = sorted({1, 2, 5, 6, 7, 12, 3 * panel, 3 * panel + 1, 47, 48, 49, 100, 768})
    text = "".join(f"""
func.func @rows{k}(%x: memref<?x{k}xf32, strided<[?, 1], offset: ?>>, %y: memref<?x{1 - -k // STEP}x6xf32>, %s: memref<?x{panel}xf32>) {{
  transformer_kernel.winograd_rows ins(%x) outs(%y, %s) : (memref<?x{k}xf32, strided<[?, 1], offset: ?>>, memref<?x{1 - -k // STEP}x6xf32>, memref<?x{panel}xf32>) -> ()
  return
}}""" for k in widths)
    library = nests.build(text, arch)

    def run(k, x):
        y = np.full((len(x), 1 - -k // STEP, STEP), np.nan, np.float32)
        inverse = np.full((len(x), panel), np.nan, np.float32)
        nests.call(library[f"rows{k}"], x, y, inverse)
        return y, inverse

    for k in widths:
        for count in (0, 1, 37):
            wide = random.standard_normal((count, k + 9)).astype(np.float32)
            wide *= np.exp2(random.integers(-20, 20, (count, 1))).astype(np.float32)
            x = wide[:, 3 : 3 + k]  # columns of something wider
            y, inverse = run(k, x)
            scale = scale_of(x)
            steps, correction = steps_of(x * scale[:, None])
            ok = np.array_equal(y[:, 1:], steps) and np.array_equal(inverse, np.repeat(1 / scale[:, None], panel, 1))
            ok &= np.array_equal(y[:, 0, :5], np.tile([0, 0, 1, 0, 0], (count, 1)))
            ok &= close(y[:, 0, 5], correction, pair_magnitude(steps))
            if count > 5:
                alone, one = run(k, x[5:6])
                ok &= np.array_equal(alone[0], y[5]) and np.array_equal(one[0], inverse[5])
            check(f"winograd_rows {k} rows {count}", bool(ok))
    special = np.zeros((5, 48), np.float32)
    special[1], special[2], special[3, 7], special[4, 9] = 1e-30, 1e30, np.nan, np.inf
    y, inverse = run(48, special)
    ok = not y[0, 1:].any() and y[0, 0, 5] == 0 and np.isfinite(y[:3]).all() and np.isfinite(inverse).all()
    ok &= np.array_equal(y[1, 1:].reshape(-1) * inverse[1, 0], special[1]) and np.array_equal(y[2, 1:].reshape(-1) * inverse[2, 0], special[2])
    check("winograd_rows of zeros, extremes and none", bool(ok and not np.isfinite(y[3]).all() and not np.isfinite(y[4]).all()))


def check_panels():
    shapes = [(1, 1), (panel, 6), (panel + 1, 7), (5 * panel - 1, 47), (3 * panel, 100), (31 * panel, 13)]
    cases = [(f"w{i}{layout}", n, k, layout) for i, (n, k) in enumerate(shapes) for layout in ("out_in", "in_out")]
    text = ""
    for name, n, k, layout in cases:
        outs = f"memref<{2 + -(-n // panel)}x{1 - -k // STEP}x6x{panel}xf32>"
        a, b = ((f"memref<{m}x{k}xf32>" if layout == "out_in" else f"memref<{k}x{m}xf32>") for m in (2 * panel, n))
        text += f"""
func.func @{name}(%a: {a}, %b: {b}, %y: {outs}) {{
  transformer_kernel.pack_weight {layout} ins(%a, %b) outs(%y) {{winograd}} : ({a}, {b}, {outs}) -> ()
  return
}}"""
    library = nests.build(text, arch)
    for name, n, k, layout in cases:
        weights = [random.standard_normal((m, k)).astype(np.float32) * np.exp2(random.integers(-20, 20, (m, 1))).astype(np.float32) for m in (2 * panel, n)]
        y = np.full((2 + -(-n // panel), 1 - -k // STEP, STEP, panel), np.nan, np.float32)
        nests.call(library[name], *(w if layout == "out_in" else np.ascontiguousarray(w.T) for w in weights), y)
        w = np.concatenate([*weights, np.zeros((-n % panel, k), np.float32)])
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


check_rows()
check_panels()
print("FAILED" if failures else "all passed")
sys.exit(failures > 0)
