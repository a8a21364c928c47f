"""Products over the tokens against double precision, on odd sizes and on more tokens than a block has; on a CPU that
multiplies bfloat16 also those, with what weights and rows become for them, bit for bit (test/quantize.py)."""
import sys
from pathlib import Path

import numpy as np

import nests
from checks import arch, check, check_parts, garbage, memref, normal, part_text, random, rows_of_sizes, run_checks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import quantize  # noqa: E402

BF16_ARCH = "cooperlake"  # the first with AVX-512 BF16
AMX_ARCH = "sapphirerapids"  # the first with AMX
has_bf16 = arch == "x86-64-v4" and quantize.multiplies_bfloat16()
has_amx = arch == "x86-64-v4" and nests.allows_matrices()
TOKENS = (0, 1, 2, 37, 200, 701)


def pairs(x, axis):
    """Neighbours along an axis as bfloat16 in the halves of words, 0 behind the last."""
    bits = np.moveaxis(quantize.to_bf16(x).view(np.uint32) >> 16, axis, 0)
    if len(bits) % 2:
        bits = np.concatenate([bits, np.zeros_like(bits[:1])])
    return np.moveaxis(bits[::2] | bits[1::2] << 16, 0, axis)


def gradient_text(name, m, n, height, width, element, kind="", what=""):
    squares = what == "squares"
    a, b, c = (f"memref<?x{m}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{n}xf32, strided<[?, 1], offset: ?>>", memref(m, n))
    strips, panels = (f"memref<{-(-size // part)}x?x{part}x{element}>" for size, part in ((m, height), (n, width)))
    if kind == "matrices":
        strips = f"memref<{-(-m // height)}x{height}x?x{element}>"
    buffers = {"%c": c, "%s": strips, "%p": panels} | ({"%t": "memref<?xf32>"} if kind == "winograd" else {})
    buffers |= {"%q": "memref<f32>", "%r": memref(-(-n // width) * -(-m // height))} if squares else {}
    types, names = ", ".join(buffers.values()), ", ".join(buffers)
    return f"""
func.func @{name}(%a: {a}, %b: {b}, {", ".join(f"{name}: {type}" for name, type in buffers.items())}) {{
  transformer_cpu.weight_gradient {kind} {what} ins(%a, %b) outs({names}) : ({a}, {b}, {types}) -> ()
  return
}}"""


def check_gradients_on(target, label, tile, steps_of, element="f32", rounded=lambda x: x, kind="", unit=2e-7):
    """`steps_of`: rows of the scratch for so many tokens."""
    lanes = nests.vector_lanes(target)
    height, width = tile(lanes)
    sizes = [(1, 1), (5, 3), (height, width), (37, 70), (3 * height + 1, 2 * width + lanes), (130, 33), (1500, 40), (600, 256)]  # the last is larger than the second-level cache
    texts = (gradient_text(f"{name}{i}", m, n, height, width, element, kind, what)
             for i, (m, n) in enumerate(sizes) for name, what in (("g", ""), ("s", "squares"), ("o", "onto")))
    library = nests.build("".join(texts), target)
    for i, (m, n) in enumerate(sizes):
        for tokens in TOKENS:
            a, b = normal(tokens, m + 3)[:, 1 : 1 + m], normal(tokens, n + 5)[:, 2 : 2 + n]
            a *= np.float32(10) ** random.integers(-12, 12, m)  # columns of many sizes, and of zeros
            b[:, random.random(n) < 0.1] = 0
            sizes_of_tokens = np.float32(10) ** random.integers(-6, 6, (tokens, 1))  # no sum knows of
            a *= sizes_of_tokens
            b /= sizes_of_tokens
            scratch = [np.full((-(-size // part), steps_of(tokens), part), 77, np.float32 if element == "f32" else np.int32)
                       for size, part in ((m, height), (n, width))]
            if kind == "matrices":
                scratch[0] = np.full((-(-m // height), height, steps_of(tokens) + 16), 77, np.int32)
            if kind == "winograd":
                scratch.append(garbage(tokens))
            c = garbage(m, n)
            nests.call(library[f"g{i}"], a, b, c, *scratch)
            x, y = rounded(a).astype(np.float64), rounded(b).astype(np.float64)
            error = np.abs(c - x.T @ y)
            allowed = unit * np.sqrt(max(tokens, 1)) * np.sqrt((x**2).T @ y**2)
            check(f"weight_gradient{label} {m}x{n} tokens {tokens}", bool((error <= allowed).all()),
                  f"error {(error / np.maximum(allowed, 1e-300)).max(initial=0):.2f} of what is allowed")
            same, sum_of_squares = garbage(m, n), np.full((), 77, np.float32)
            nests.call(library[f"s{i}"], a, b, same, *scratch, sum_of_squares, garbage(-(-n // width) * -(-m // height)))
            want = (c.astype(np.float64) ** 2).sum()
            check(f"weight_gradient{label} {m}x{n} tokens {tokens} squares",
                  same.tobytes() == c.tobytes() and abs(sum_of_squares - want) <= 1e-6 * want,
                  f"{float(sum_of_squares):.8g}, in double precision {want:.8g}")
            before = np.random.default_rng(i).standard_normal((m, n), np.float32) * np.abs(c).max(initial=1)
            both = before.copy()
            nests.call(library[f"o{i}"], a, b, both, *scratch)
            check(f"weight_gradient{label} {m}x{n} tokens {tokens} onto", both.tobytes() == (c + before).tobytes(), "is not the sum of both")


def check_gradients():
    check_gradients_on(arch, "", lambda lanes: ({4: 4, 8: 6, 16: 8}[lanes], 2 * lanes), lambda tokens: tokens)
    for vectors in (1, 2):
        check_gradients_on(arch, f" winograd {vectors}", lambda lanes: ((16 if lanes == 16 else 8) // vectors, vectors * lanes),
                           lambda tokens: 1 + max(1, -(-tokens // 132)) + -(-tokens // 6) * 6, kind="winograd", unit=4e-7)
    if has_bf16:
        check_gradients_on(BF16_ARCH, " bf16", lambda lanes: (8, 2 * lanes), lambda tokens: -(-tokens // 2), "i32", quantize.to_bf16)
    if has_amx:
        check_gradients_on(AMX_ARCH, " bf16 in matrix registers", lambda lanes: (32, 32), lambda tokens: -(-tokens // 32) * 16, "i32",
                           quantize.to_bf16, kind="matrices")


def words_of(k):
    """What holds k features: as many words, and whole matrix registers with zeros at the end."""
    return {"": -(-k // 2), " in whole registers": -(-k // 32) * 16}


def filled(words, count, axis):
    """With zeros up to `count`."""
    missing = [(0, 0)] * words.ndim
    missing[axis] = (0, count - words.shape[axis])
    return np.pad(words, missing)


def check_weights():
    if not has_bf16:
        return
    panel = 2 * nests.vector_lanes(BF16_ARCH)
    cases = [(f"w{i}_{layout}_{steps}", n, k, layout, what, steps) for layout in ("out_in", "in_out")
             for i, (n, k) in enumerate([(1, 1), (panel, 6), (panel + 1, 33), (5 * panel - 1, 47), (3 * panel, 96), (17, 101)])
             for steps, what in {steps: what for what, steps in words_of(k).items()}.items()]
    text = ""
    for name, n, k, layout, what, steps in cases:
        w, y = memref(*((n, k) if layout == "out_in" else (k, n))), memref(-(-n // panel), steps, panel, element="i32")
        text += f"""
func.func @{name}(%w: {w}, %y: {y}) {{
  transformer_cpu.pack_weight {layout} ins(%w) outs(%y) : ({w}, {y}) -> ()
  return
}}""" + part_text(f"{name}part", layout, {"%w": w}, f"{steps}x{panel}xi32")
    library = nests.build(text, BF16_ARCH)
    for name, n, k, layout, what, steps in cases:
        w = rows_of_sizes(n, k)
        y = np.full((-(-n // panel), steps, panel), 77, np.uint32)
        given = w if layout == "out_in" else np.ascontiguousarray(w.T)
        nests.call(library[name], given, y)
        wanted = filled(pairs(np.concatenate([w, np.zeros((-n % panel, k), np.float32)]), 1), steps, 1)
        check(f"pack_weight bf16 pairs{what} {k}x{n} {layout}", np.array_equal(y, np.moveaxis(wanted.reshape(-1, panel, wanted.shape[1]), 1, 2)))
        check(f"pack_weight bf16 pairs{what} {k}x{n} {layout} by parts", check_parts(nests.call, library[f"{name}part"], y, given))


def check_rows():
    if not has_bf16:
        return
    widths, text = [1, 2, 31, 32, 33, 100, 768], ""
    cases = sorted({(k, steps) for k in widths for steps in words_of(k).values()})
    for k, steps in cases:
        x, y = f"memref<?x{k}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{steps}xi32>"
        text += f"""
func.func @rows{k}_{steps}(%x: {x}, %y: {y}) {{
  transformer_cpu.bfloat16_rows ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for k, steps in cases:
        for count in (0, 1, 37):
            x = rows_of_sizes(count, k + 9)[:, 3 : 3 + k]
            y = np.full((count + 3, steps), 77, np.uint32)  # for more rows than there are
            nests.call(library[f"rows{k}_{steps}"], x, y)
            same = np.array_equal(y[:count], filled(pairs(x, 1), steps, 1)) and bool((y[count:] == 77).all())
            check(f"bfloat16_rows {k} in {steps} words, rows {count}", same)


run_checks(check_gradients, check_weights, check_rows)
