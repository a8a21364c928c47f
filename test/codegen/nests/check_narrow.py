"""Checks panels of narrow weights and their scales, bit for bit, against the definition (test/quantize.py):
one weight behind another, both layouts, odd sizes, numbers at and beyond the ends of the range; and what
rows become for products with weights in 4 bits, and as integers."""
import sys
from pathlib import Path

import numpy as np

import nests
from checks import arch, check, garbage, memref, normal, random, rows_of_sizes, run_checks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import quantize  # noqa: E402

panel = 2 * nests.vector_lanes(arch)
WORD, WORDS = 8, 4
BYTES = 4  # of a word of integers
BYTE_ORDER = np.arange(WORD).reshape(BYTES, 2).T.ravel()  # of eight features in two words
WEIGHTS = {form: form for form in quantize.FORMATS} | {"int8_words": "int8"}
PANELS = {"bf16": "bf16", "int8": "i8", "int4": "i32", "int8_words": "i32"}
SCALES = {"int8": "f32", "int4": "bf16", "int8_words": "f32"}


def groups_of(k):
    return -(-k // quantize.GROUP)


def shapes_of(form, n, k):
    """Shapes of the panels and of the scales for a weight behind one of 2 * panel outputs."""
    count = 2 + -(-n // panel)
    if form == "int4":
        return (count, groups_of(k), WORDS, panel), (count, groups_of(k), panel)
    if form == "int8_words":
        return (count, groups_of(k), quantize.GROUP // BYTES, panel), (count, 1, panel)
    return (count, k, panel), (count, 1, panel)


def function_text(name, form, n, k, layout):
    panels, scales = shapes_of(form, n, k)
    a, b = (memref(*((m, k) if layout == "out_in" else (k, m))) for m in (2 * panel, n))
    y = memref(*panels, element=PANELS[form])
    if form == "bf16":
        return f"""
func.func @{name}(%a: {a}, %b: {b}, %y: {y}) {{
  transformer_cpu.pack_weight {layout} ins(%a, %b) outs(%y) : ({a}, {b}, {y}) -> ()
  return
}}"""
    s = memref(*scales, element=SCALES[form])
    return f"""
func.func @{name}(%a: {a}, %b: {b}, %s: {s}, %y: {y}) {{
  transformer_cpu.weight_scales {WEIGHTS[form]} {layout} ins(%a, %b) outs(%s) : ({a}, {b}, {s}) -> ()
  transformer_cpu.pack_weight {layout} ins(%a, %b) scales(%s) outs(%y) : ({a}, {b}, {s}, {y}) -> ()
  return
}}"""


def weights_of(n, k):
    """Sizes of all kinds, ties, zeros, and rows with no number."""
    w = rows_of_sizes(n, k)
    special = [0, 1e-45, 2.0**-149 * 63, 3.4e38, np.nan, np.inf, -np.inf]
    for row, value in zip(range(0, n, 3), special):
        w[row] = random.integers(-2, 3, k).astype(np.float32)
        w[row, k // 2] = value
        if value == 0 or abs(value) < 1e-40:
            w[row] = 0
            w[row, k // 2] = value
    if n > 1:
        w[1] = random.integers(-127, 128, k) / np.float32(2)  # ties
    return w


def in_panels(columns):
    """[n, ...] of n whole panels as [panels, ..., panel]."""
    split = columns.reshape(-1, panel, *columns.shape[1:])
    return np.moveaxis(split, 1, -1)


def expected(form, w, k):
    """Panels (bits) and scales in the panels' order."""
    if form == "bf16":
        bits = quantize.to_bf16(w).view(np.uint32) >> 16
        return in_panels(bits.astype(np.uint16)), None
    integers, scales = quantize.quantize(w, WEIGHTS[form])
    if form == "int8":
        return in_panels(integers.astype(np.int8)), in_panels(scales)
    if form == "int8_words":
        return in_panels(byte_words(integers + 128, k)), in_panels(scales)
    padded = np.zeros((len(w), groups_of(k) * quantize.GROUP), np.uint32)
    padded[:, :k] = integers + 8
    words = -(-k // WORD)  # of which the last may have fewer weights
    nibbles = padded.reshape(len(w), -1, WORD) << (4 * np.arange(WORD, dtype=np.uint32))
    packed = np.bitwise_or.reduce(nibbles, 2)
    packed[:, words:] = 0
    return in_panels(packed.reshape(len(w), -1, WORDS)), in_panels(scales)


def byte_words(integers, k):
    """[n, groups, words] of integers of 8 bits, 0 behind the k that there are."""
    padded = np.zeros((len(integers), groups_of(k) * quantize.GROUP), np.uint8)
    padded[:, :k] = integers.astype(np.uint8)
    eights = padded.reshape(len(integers), groups_of(k), quantize.GROUP // WORD, WORD)[..., BYTE_ORDER]
    return np.ascontiguousarray(eights).view(np.uint32).reshape(len(integers), groups_of(k), quantize.GROUP // BYTES)


def same(found, wanted):
    """Equal bits, any NaN being like another."""
    return np.array_equal(found, wanted, equal_nan=wanted.dtype.kind == "f")


def check_panels():
    shapes = [(1, 1), (panel, 6), (panel + 1, 33), (5 * panel - 1, 47), (3 * panel, 96), (31 * panel, 13), (17, 100)]
    cases = [
        (f"w{i}_{layout}_{form}", form, n, k, layout)
        for i, (n, k) in enumerate(shapes)
        for layout in ("out_in", "in_out")
        for form in WEIGHTS
    ]
    library = nests.build("".join(function_text(*case) for case in cases), arch)
    for name, form, n, k, layout in cases:
        weights = [weights_of(m, k) for m in (2 * panel, n)]
        given = [w if layout == "out_in" else np.ascontiguousarray(w.T) for w in weights]
        panels, scales = shapes_of(form, n, k)
        y = np.full(panels, 77, {"bf16": np.uint16, "i8": np.int8, "i32": np.uint32}[PANELS[form]])
        s = np.full(scales, 77, np.uint16 if form == "int4" else np.float32)
        nests.call(library[name], *given, *([] if form == "bf16" else [s]), y)
        all_weights = np.concatenate([*weights, np.zeros((-n % panel, k), np.float32)])
        wanted, wanted_scales = expected(form, all_weights, k)
        if form == "bf16":
            nan = np.isnan(in_panels(quantize.to_bf16(all_weights)))
            values = (y.astype(np.uint32) << 16).view(np.float32)
            ok = np.array_equal(y[~nan], wanted[~nan]) and np.isnan(values[nan]).all()
        else:
            if form == "int4":
                s = (s.astype(np.uint32) << 16).view(np.float32)
            ok = same(y, wanted) and same(s, wanted_scales)
        check(f"pack_weight {form} {k}x{n} {layout}", bool(ok))


def check_rows():
    widths = [1, 7, 8, 31, 32, 33, 100, 768]
    text = ""
    for k in widths:
        x, y = f"memref<?x{k}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{groups_of(k)}x{WORDS}x{WORD + 1}xf32>"
        text += f"""
func.func @rows{k}(%x: {x}, %y: {y}) {{
  transformer_cpu.int4_rows ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}"""
    library = nests.build(text, arch)
    factors = np.array([16.0**-u for u in range(WORD - 1)] + [1], np.float32)
    for k in widths:
        for count in (0, 1, 37):
            x = normal(count, k + 9)[:, 3 : 3 + k]
            y = garbage(count, groups_of(k), WORDS, WORD + 1)
            nests.call(library[f"rows{k}"], x, y)
            padded = np.zeros((count, groups_of(k) * quantize.GROUP), np.float32)
            padded[:, :k] = x
            words = padded.reshape(count, groups_of(k), WORDS, WORD)
            sums = words.astype(np.float64).sum((2, 3))
            magnitude = np.abs(words).sum((2, 3))
            ok = np.array_equal(y[..., :WORD], words * factors) and not y[:, :, 1:, WORD].any()
            ok &= (np.abs(y[:, :, 0, WORD] + 8 * sums) <= 8 * 3e-7 * magnitude).all()
            if count > 5:
                alone = np.full_like(y[:1], np.nan)
                nests.call(library[f"rows{k}"], x[5:6], alone)
                ok &= np.array_equal(alone[0], y[5])
            check(f"int4_rows {k} rows {count}", bool(ok))


def special_rows(count, k):
    """Ties, zeros, numbers too small for a scale, and none."""
    x = rows_of_sizes(count, k + 9)[:, 3 : 3 + k]
    x[0] = random.integers(-254, 255, k) / np.float32(2)
    x[0, 0] = 127
    for row, value in zip(range(1, count), [0, 1e-45, -3e-38, 3.4e38, np.nan, -np.inf]):
        x[row] = value if np.isfinite(value) else x[row]
        x[row, k // 2] = value
    return x


def check_integer_rows():
    widths, places = [1, 7, 8, 31, 32, 33, 100, 768], quantize.GROUP // BYTES + 2
    text = ""
    for k in widths:
        x, y = f"memref<?x{k}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{groups_of(k)}x{places}xi32>"
        text += f"""
func.func @rows{k}(%x: {x}, %y: {y}) {{
  transformer_cpu.integer_rows offset 128 ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}"""
    library = nests.build(text, arch)
    for k in widths:
        for count in (0, 1, 37):
            x = special_rows(count, k) if count else normal(0, k + 9)[:, 3 : 3 + k]
            y = np.full((count, groups_of(k), places), 77, np.int32)
            nests.call(library[f"rows{k}"], x, y)
            integers, scales = quantize.quantize_rows(x)
            number = ~np.isnan(scales)  # of a group that is none its scale alone counts
            words = byte_words(integers.reshape(count, groups_of(k) * quantize.GROUP)[:, :k], k)
            ok = np.array_equal(y[..., :-2].view(np.uint32)[number], words[number])
            ok &= np.array_equal(y[..., -2][number], -128 * integers.sum(2)[number])
            ok &= np.array_equal(np.ascontiguousarray(y[..., -1]).view(np.float32), scales, equal_nan=True)
            check(f"integer_rows {k} rows {count}", bool(ok))


run_checks(check_panels, check_rows, check_integer_rows)
