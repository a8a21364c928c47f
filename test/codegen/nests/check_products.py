"""Products over the tokens against double precision, on odd sizes and on more tokens than a block has; on a CPU that
multiplies bfloat16 also those, with what weights and rows become for them, bit for bit (test/quantize.py)."""
import sys
from pathlib import Path

import numpy as np

import nests
from checks import arch, check, garbage, memref, normal, rows_of_sizes, run_checks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import quantize  # noqa: E402

BF16_ARCH = "cooperlake"  # the first with AVX-512 BF16
has_bf16 = arch == "x86-64-v4" and quantize.multiplies_bfloat16()
TOKENS = (0, 1, 2, 37, 200, 701)


def pairs(x, axis):
    """Neighbours along an axis as bfloat16 in the halves of words, 0 behind the last."""
    bits = np.moveaxis(quantize.to_bf16(x).view(np.uint32) >> 16, axis, 0)
    if len(bits) % 2:
        bits = np.concatenate([bits, np.zeros_like(bits[:1])])
    return np.moveaxis(bits[::2] | bits[1::2] << 16, 0, axis)


def gradient_text(name, m, n, height, width, element):
    a, b, c = (f"memref<?x{m}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{n}xf32, strided<[?, 1], offset: ?>>", memref(m, n))
    strips, panels = (f"memref<{-(-size // part)}x?x{part}x{element}>" for size, part in ((m, height), (n, width)))
    return f"""
func.func @{name}(%a: {a}, %b: {b}, %c: {c}, %s: {strips}, %p: {panels}) {{
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : ({a}, {b}, {c}, {strips}, {panels}) -> ()
  return
}}"""


def check_gradients_on(target, element, rounded, label):
    lanes = nests.vector_lanes(target)
    height, width = {4: 4, 8: 6, 16: 8}[lanes], 2 * lanes
    sizes = [(1, 1), (5, 3), (height, width), (37, 70), (3 * height + 1, 2 * width + lanes), (130, 33), (1500, 40)]
    library = nests.build("".join(gradient_text(f"g{i}", m, n, height, width, element) for i, (m, n) in enumerate(sizes)), target)
    kind = np.float32 if element == "f32" else np.int32
    for i, (m, n) in enumerate(sizes):
        for tokens in TOKENS:
            a, b = normal(tokens, m + 3)[:, 1 : 1 + m], normal(tokens, n + 5)[:, 2 : 2 + n]
            steps = tokens if element == "f32" else -(-tokens // 2)
            scratch = [np.full((-(-size // part), steps, part), 77, kind) for size, part in ((m, height), (n, width))]
            c = garbage(m, n)
            nests.call(library[f"g{i}"], a, b, c, *scratch)
            x, y = rounded(a).astype(np.float64), rounded(b).astype(np.float64)
            error = np.abs(c - x.T @ y)
            allowed = 2e-7 * np.sqrt(max(tokens, 1)) * (np.sqrt((x**2).sum(0))[:, None] * np.sqrt((y**2).sum(0)) + 1e-30)
            check(f"weight_gradient{label} {m}x{n} tokens {tokens}", bool((error <= allowed).all()),
                  f"error {(error / allowed).max(initial=0):.2f} of what is allowed")


def check_gradients():
    check_gradients_on(arch, "f32", lambda x: x, "")
    if has_bf16:
        check_gradients_on(BF16_ARCH, "i32", quantize.to_bf16, " bf16")


def check_weights():
    if not has_bf16:
        return
    panel = 2 * nests.vector_lanes(BF16_ARCH)
    cases = [(f"w{i}_{layout}", n, k, layout) for layout in ("out_in", "in_out")
             for i, (n, k) in enumerate([(1, 1), (panel, 6), (panel + 1, 33), (5 * panel - 1, 47), (3 * panel, 96), (17, 101)])]
    text = ""
    for name, n, k, layout in cases:
        w, y = memref(*((n, k) if layout == "out_in" else (k, n))), memref(-(-n // panel), -(-k // 2), panel, element="i32")
        text += f"""
func.func @{name}(%w: {w}, %y: {y}) {{
  transformer_cpu.pack_weight {layout} ins(%w) outs(%y) : ({w}, {y}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for name, n, k, layout in cases:
        w = rows_of_sizes(n, k)
        y = np.full((-(-n // panel), -(-k // 2), panel), 77, np.uint32)
        nests.call(library[name], w if layout == "out_in" else np.ascontiguousarray(w.T), y)
        wanted = pairs(np.concatenate([w, np.zeros((-n % panel, k), np.float32)]), 1)
        check(f"pack_weight bf16 pairs {k}x{n} {layout}", np.array_equal(y, np.moveaxis(wanted.reshape(-1, panel, wanted.shape[1]), 1, 2)))


def check_rows():
    if not has_bf16:
        return
    widths, text = [1, 2, 31, 32, 33, 100, 768], ""
    for k in widths:
        x, y = f"memref<?x{k}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{-(-k // 2)}xi32>"
        text += f"""
func.func @rows{k}(%x: {x}, %y: {y}) {{
  transformer_cpu.bfloat16_rows ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for k in widths:
        for count in (0, 1, 37):
            x = rows_of_sizes(count, k + 9)[:, 3 : 3 + k]
            y = np.full((count, -(-k // 2)), 77, np.uint32)
            nests.call(library[f"rows{k}"], x, y)
            check(f"bfloat16_rows {k} rows {count}", np.array_equal(y, pairs(x, 1)))


run_checks(check_gradients, check_weights, check_rows)
