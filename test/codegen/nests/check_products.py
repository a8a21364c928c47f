"""Products over the tokens against double precision, on odd sizes and on more tokens than a block has; on a CPU that
multiplies bfloat16 also those, with what weights and rows become for them, bit for bit (test/quantize.py)."""
import numpy as np

import nests
from bfloat16 import BF16_ARCH, has_bf16, pairs, quantize
from checks import arch, check, check_parts, garbage, memref, normal, part_text, random, rows_of_sizes, run_checks

AMX_ARCH = "sapphirerapids"  # the first with AMX
has_amx = arch == "x86-64-v4" and nests.allows_matrices()
LEAST_NORMAL = 2.0**-126
TINY = np.float32(2.0**-105)  # times numbers of rows_of_sizes: parts are below that
TOKENS = (0, 1, 2, 37, 200, 701)


def gradient_text(name, m, n, height, width, element, kind="", what="", parts=1):
    squares = what == "squares"
    a, b, c = (f"memref<?x{m}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{n}xf32, strided<[?, 1], offset: ?>>", memref(m, n))
    strips, panels = (f"memref<{-(-size // part)}x?x{part}x{element}>" for size, part in ((m, height), (n, width)))
    if kind == "matrices":
        strips, panels = f"memref<{-(-m // height)}x?x{parts}x{height}x16xi32>", f"memref<{-(-n // width)}x{parts}x?x{width}xi32>"
    buffers = {"%c": c, "%s": strips, "%p": panels} | ({"%t": "memref<?xf32>"} if kind == "winograd" else {})
    buffers |= {"%q": "memref<f32>", "%r": memref(-(-n // width) * -(-m // height))} if squares else {}
    types, names = ", ".join(buffers.values()), ", ".join(buffers)
    return f"""
func.func @{name}(%a: {a}, %b: {b}, {", ".join(f"{name}: {type}" for name, type in buffers.items())}) {{
  transformer_cpu.weight_gradient {kind} {what} ins(%a, %b) outs({names}) : ({a}, {b}, {types}) -> ()
  return
}}"""


def check_gradients_on(target, label, tile, steps_of, element="f32", rounded=lambda x: x, kind="", unit=2e-7, parts=1):
    """`steps_of`: rows of the scratch for so many tokens."""
    lanes = nests.vector_lanes(target)
    height, width = tile(lanes)
    sizes = [(1, 1), (5, 3), (height, width), (37, 70), (3 * height + 1, 2 * width + lanes), (130, 33), (1500, 40), (600, 256)]  # the last is larger than the second-level cache
    texts = (gradient_text(f"{name}{i}", m, n, height, width, element, kind, what, parts)
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
            if parts > 1 and tokens > 30:  # some have parts below the least normal number
                a[::7] *= np.float32(1e-34)
            scratch = [np.full((-(-size // part), steps_of(tokens), part), 77, np.float32 if element == "f32" else np.int32)
                       for size, part in ((m, height), (n, width))]
            if kind == "matrices":
                scratch = [np.full((-(-m // height), steps_of(tokens) // 16, parts, height, 16), 77, np.int32),
                           np.full((-(-n // width), parts, steps_of(tokens), width), 77, np.int32)]
            if kind == "winograd":
                scratch.append(garbage(tokens))
            c = garbage(m, n)
            nests.call(library[f"g{i}"], a, b, c, *scratch)
            x, y = rounded(a).astype(np.float64), rounded(b).astype(np.float64)
            error = np.abs(c - x.T @ y)
            allowed = unit * np.sqrt(max(tokens, 1)) * np.sqrt((x**2).T @ y**2)
            if parts > 1:  # what is below that number counts as 0
                allowed += LEAST_NORMAL * (np.abs(x).sum(0)[:, None] + np.abs(y).sum(0))
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
        matrices = {"tile": lambda lanes: (32, 32), "steps_of": lambda tokens: -(-tokens // 32) * 16, "element": "i32", "kind": "matrices"}
        check_gradients_on(AMX_ARCH, " bf16 in matrix registers", rounded=quantize.to_bf16, **matrices)
        check_gradients_on(AMX_ARCH, " f32 in matrix registers", parts=3, **matrices)


def parts_of(x, count):
    """Bfloat16 whose sum is x, the largest first; halves rounded away from 0. One part is x rounded."""
    if count == 1:
        return [quantize.to_bf16(x)]
    parts = []
    for _ in range(count - 1):
        parts.append(((x.view(np.uint32) + np.uint32(0x8000)) & np.uint32(0xFFFF0000)).view(np.float32))
        x = x - parts[-1]
    return [*parts, x]


def words(x, axis, steps, parts):
    """Pairs along an axis, zeros behind them; with parts (None: there are none) one behind the other in a dimension of their own."""
    if parts is None:
        return filled(pairs(x, axis), steps, axis)
    return np.stack([filled(pairs(part, axis), steps, axis) for part in parts_of(x, parts)])


def same_words(found, wanted):
    """Whether pairs are the same, numbers below the least normal one as 0, which products take them for."""
    def as_read(words):
        halves = np.ascontiguousarray(words).view(np.uint16)
        return np.where(halves & 0x7F80, halves, 0)

    return np.array_equal(as_read(found), as_read(wanted))


def layouts_of(k):
    """What holds k features: names, words and parts."""
    whole = -(-k // 32) * 16
    return [("pairs", -(-k // 2), None), ("in registers", whole, 1), ("f32 in registers", whole, 3)]


def filled(words, count, axis):
    """With zeros up to `count`."""
    missing = [(0, 0)] * words.ndim
    missing[axis] = (0, count - words.shape[axis])
    return np.pad(words, missing)


def check_weights():
    if not has_bf16:
        return
    panel = 2 * nests.vector_lanes(BF16_ARCH)
    cases = [(f"w{i}_{layout}_{parts}", n, k, layout, *held) for layout in ("out_in", "in_out")
             for i, (n, k) in enumerate([(1, 1), (panel, 6), (panel + 1, 33), (5 * panel - 1, 47), (3 * panel, 96), (17, 101)])
             for held in layouts_of(k) for parts in held[2:]]
    text = ""
    for name, n, k, layout, what, steps, parts in cases:
        sizes = (steps, panel) if parts is None else (parts, steps, panel)
        w, y = memref(*((n, k) if layout == "out_in" else (k, n))), memref(-(-n // panel), *sizes, element="i32")
        text += f"""
func.func @{name}(%w: {w}, %y: {y}) {{
  transformer_cpu.pack_weight {layout} ins(%w) outs(%y) : ({w}, {y}) -> ()
  return
}}""" + part_text(f"{name}part", layout, {"%w": w}, "x".join(map(str, sizes)) + "xi32")
    library = nests.build(text, BF16_ARCH)
    for name, n, k, layout, what, steps, parts in cases:
        w = rows_of_sizes(n, k)
        rows = np.concatenate([w, np.zeros((-n % panel, k), np.float32)]).reshape(-1, panel, k)

        def panels_of(rows, steps=steps, parts=parts):
            held = np.moveaxis(words(rows, 2, steps, parts), -1, -2)
            return held if parts is None else np.moveaxis(held, 0, 1)

        wanted = panels_of(rows)
        y = np.full(wanted.shape, 77, np.uint32)
        given = w if layout == "out_in" else np.ascontiguousarray(w.T)
        nests.call(library[name], given, y)
        check(f"pack_weight bf16 {what} {k}x{n} {layout}", np.array_equal(y, wanted))
        if parts == 3:
            tiny = np.zeros_like(y)
            nests.call(library[name], given * TINY, tiny)
            check(f"pack_weight bf16 {what} {k}x{n} {layout} tiny", same_words(tiny, panels_of(rows * TINY)))
        check(f"pack_weight bf16 {what} {k}x{n} {layout} by parts", check_parts(nests.call, library[f"{name}part"], y, given))


def check_split_panels():
    """Panels of float32 in parts: all of them, some, and some words of one, with what is behind the last."""
    if not has_bf16:
        return
    panel = 2 * nests.vector_lanes(BF16_ARCH)
    cases = [(1, 1, 16), (2, 32, 16), (3, 33, 32), (5, 47, 32), (2, 96, 48), (7, 101, 64)]
    text = ""
    for count, k, steps in cases:
        w, y, some = memref(count, k, panel), memref(count, 3, steps, panel, element="i32"), memref(2, 3, steps, panel, element="i32")
        step, one = memref(1, 3, 16, panel, element="i32"), memref(1, 3, 1, panel, element="i32")
        text += f"""
func.func @all{k}(%w: {w}, %y: {y}) {{
  transformer_cpu.split_panels ins(%w) outs(%y) : ({w}, {y}) -> ()
  return
}}
func.func @some{k}(%at: memref<1xindex>, %w: {w}, %y: {some}) {{
  %zero = arith.constant 0 : index
  %first = memref.load %at[%zero] : memref<1xindex>
  transformer_cpu.split_panels at %first ins(%w) outs(%y) : ({w}, index, {some}) -> ()
  return
}}"""
        for name, flag, y in (("step", "ahead", step), ("word", "inside", one)):
            text += f"""
func.func @{name}{k}(%at: memref<2xindex>, %w: {w}, %y: {y}) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %first = memref.load %at[%zero] : memref<2xindex>
  %word = memref.load %at[%one] : memref<2xindex>
  transformer_cpu.split_panels at %first words %word {flag} ins(%w) outs(%y) : ({w}, index, index, {y}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for count, k, steps in cases:
        w = np.ascontiguousarray(rows_of_sizes(count * panel, k).reshape(count, panel, k).transpose(0, 2, 1))
        wanted = np.moveaxis(words(w, 1, steps, 3), 0, 1)
        y = np.full(wanted.shape, 77, np.uint32)
        nests.call(library[f"all{k}"], w, y)
        check(f"split_panels {k}x{count * panel}", np.array_equal(y, wanted))
        tiny = w * TINY
        nests.call(library[f"all{k}"], tiny, y)
        check(f"split_panels {k}x{count * panel} tiny", same_words(y, np.moveaxis(words(tiny, 1, steps, 3), 0, 1)))
        some = True
        for first in range(count):
            y = np.full((2, *wanted.shape[1:]), 77, np.uint32)
            nests.call(library[f"some{k}"], np.array([first], np.int64), w, y)
            there = wanted[first : first + 2]
            some &= np.array_equal(y[: len(there)], there) and bool((y[len(there) :] == 77).all())
        check(f"split_panels {k}x{count * panel} by parts", some)
        same = True
        for first in range(count):
            for name, size, end in (("step", 16, steps), ("word", 1, k // 2)):
                for word in range(0, end, size):
                    y = np.full((1, 3, size, panel), 77, np.uint32)
                    nests.call(library[f"{name}{k}"], np.array([first, word], np.int64), w, y)
                    same &= np.array_equal(y[0], wanted[first, :, word : word + size])
        check(f"split_panels {k}x{count * panel} by words", same)


def check_rows():
    if not has_bf16:
        return
    cases = [(k, *held) for k in (1, 2, 31, 32, 33, 100, 768) for held in layouts_of(k)]
    text = ""
    for k, _, steps, parts in cases:
        x, y = f"memref<?x{k}xf32, strided<[?, 1], offset: ?>>", f"memref<?x{steps if parts is None else f'{steps // 16}x{parts}x16x16'}xi32>"
        text += f"""
func.func @rows{k}_{parts}(%x: {x}, %y: {y}) {{
  transformer_cpu.bfloat16_rows ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}
func.func @relu{k}_{parts}(%x: {x}, %y: {y}) {{
  transformer_cpu.bfloat16_rows activation relu ins(%x) outs(%y) : ({x}, {y}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for k, what, steps, parts in cases:
        for count in (0, 1, 37):
            x = rows_of_sizes(count, k + 9)[:, 3 : 3 + k]
            rows = count + 3 if parts is None else -(-count // 16) * 16 + 16  # more than there are
            for name, numbers in (("rows", np.ascontiguousarray(x)), ("relu", np.maximum(x, 0))):
                y = np.full((rows, steps) if parts is None else (rows // 16, steps // 16, parts, 16, 16), 77, np.uint32)
                nests.call(library[f"{name}{k}_{parts}"], x, y)
                if parts is not None:  # of registers
                    y = y.transpose(2, 0, 3, 1, 4).reshape(parts, rows, steps)
                same = np.array_equal(y[..., :count, :], words(numbers, 1, steps, parts)) and bool((y[..., count:, :] == 77).all())
                check(f"bfloat16_rows {what} {k}, {name} {count}", same)


run_checks(check_gradients, check_weights, check_split_panels, check_rows)
