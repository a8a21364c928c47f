"""Kernels that write rows as words of two bfloat16, in place of float32 or beside it, and those that read such rows: bit for
bit what float32 gives, rounded. On CPUs that multiply bfloat16."""
import numpy as np

import nests
from bfloat16 import BF16_ARCH, has_bf16, pairs, quantize
from checks import check, garbage, memref, normal, random, rows_of_sizes, run_checks

WIDTHS = (1, 2, 5, 16, 33, 70, 128, 301)
COUNTS = (0, 1, 37)
BEYOND = 3  # words of a row that nobody may write to


def words_of(width):
    return -(-width // 2)


def rows_types(width):
    """Of f32 and of words."""
    return memref(None, width), f"memref<?x{words_of(width)}xi32, strided<[{words_of(width) + BEYOND}, 1]>>"


def untouched(count, width):
    """Memory for words, and all of it."""
    whole = np.full((count, words_of(width) + BEYOND), 77, np.uint32)
    return whole[:, : words_of(width)], whole


def function_text(name, kernel, ins, outs, attributes, constants=""):
    """`ins` and `outs` are types by names; an in that is a constant has no argument."""
    arguments = ", ".join(f"{n}: {t}" for n, t in {**ins, **outs}.items() if n != "%key")
    types = ", ".join([*ins.values(), *outs.values()])
    return f"""
func.func @{name}({arguments}) {{
{constants}  transformer_kernel.{kernel} ins({", ".join(ins)}) outs({", ".join(outs)}) {attributes} : ({types}) -> ()
  return
}}"""


def check_written(what, kernel, ins_of, values_of, attributes, constants="", beside=True):
    """A kernel whose first out may be words, or have them behind it."""
    if not has_bf16:
        return
    text = ""
    for width in WIDTHS:
        rows, words = rows_types(width)
        ins = ins_of(width, rows)
        for name, outs in (("plain", {"%y": rows}), ("instead", {"%w": words}), *[("beside", {"%y": rows, "%w": words})] * beside):
            text += function_text(f"{name}{width}", kernel, ins, outs, attributes(width), constants)
    library = nests.build(text, BF16_ARCH)
    for width in WIDTHS:
        for count in COUNTS:
            ins = values_of(width, count)
            y = garbage(count, width)
            nests.call(library[f"plain{width}"], *ins, y)
            wanted = pairs(y, 1)
            for name in ("instead", "beside")[: 1 + beside]:
                (words, whole), again = untouched(count, width), garbage(count, width)
                nests.call(library[f"{name}{width}"], *ins, *[again] * (name == "beside"), words)
                ok = np.array_equal(words, wanted) and (whole[:, words_of(width) :] == 77).all()
                if name == "beside":
                    ok &= again.tobytes() == y.tobytes()
                check(f"{what} {width} rows {count} words {name}", bool(ok))


def check_norms():
    def ins_of(width, rows):
        return {"%x": rows, "%g": memref(width), "%b": memref(width)}

    check_written("layer_norm", "layer_norm", ins_of, lambda width, count: (normal(count, width) + 3, normal(width), normal(width)),
                  lambda width: "norm<eps = 1.0e-5>")


def check_norm_sums():
    """Behind the sum of x and residual, and of parts of rows."""
    if not has_bf16:
        return
    rows, words = rows_types(70)
    vector, part = memref(70), memref(14)
    text = f"""
func.func @sums(%x: {rows}, %r: {rows}, %g: {vector}, %b: {vector}, %y: {rows}, %s: {rows}, %w: {words}) {{
  transformer_kernel.layer_norm ins(%x residual(%r), %g, %b) outs(%y, %s, %w) norm<eps = 1.0e-5> : ({rows}, {rows}, {vector}, {vector}, {rows}, {rows}, {words}) -> ()
  return
}}
func.func @parts(%x: {rows}, %g: {part}, %y: {rows}, %w: {words}) {{
  transformer_kernel.layer_norm ins(%x, %g) outs(%y, %w) norm<eps = 1.0e-5> {{rms}} : ({rows}, {part}, {rows}, {words}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for count in COUNTS:
        x, r, g, b = normal(count, 70), normal(count, 70), normal(70), normal(70)
        y, s, (words, whole) = garbage(count, 70), garbage(count, 70), untouched(count, 70)
        nests.call(library["sums"], x, r, g, b, y, s, words)
        check(f"layer_norm with a sum rows {count} words", np.array_equal(s, x + r) and np.array_equal(words, pairs(y, 1)))
        y, (words, whole) = garbage(count, 70), untouched(count, 70)
        nests.call(library["parts"], x, g[:14].copy(), y, words)
        check(f"rms_norm of parts rows {count} words", np.array_equal(words, pairs(y, 1)) and bool((whole[:, 35:] == 77).all()))


def check_dropout():
    check_written("dropout", "dropout", lambda width, rows: {"%x": rows, "%key": "i64"},
                  lambda width, count: (rows_of_sizes(count, width),), lambda width: "{rate = 0.3 : f64}",
                  "  %key = arith.constant 81985529216486895 : i64\n")


def check_cross_entropy():
    for smoothing in (0.0, 0.1):
        def values_of(width, count):
            labels = np.where(random.random(count) < 0.3, -100, random.integers(0, width, count))
            return normal(count, width) * 5, labels, np.array(0.7, np.float32)

        check_written(f"cross_entropy_gradient smoothing {smoothing}", "cross_entropy_gradient",
                      lambda width, rows: {"%x": rows, "%l": "memref<?xi64>", "%d": "memref<f32>"}, values_of,
                      lambda width, smoothing=smoothing: f"{{ignore_index = -100 : i64, label_smoothing = {smoothing} : f64}}", beside=False)


def check_losses():
    """The loss beside words of its gradient, also of rows so long that powers of e are computed again."""
    if not has_bf16:
        return
    attributes = "{ignore_index = -100 : i64, label_smoothing = 0.0 : f64}"
    sizes, ins = (5, 70, 300001), lambda rows: {"%x": rows, "%l": "memref<?xi64>", "%d": "memref<f32>"}
    text = ""
    for width in sizes:
        rows, words = rows_types(width)
        loss = {"%loss": "memref<f32>", "%losses": "memref<?xf32>"}
        text += function_text(f"plain{width}", "cross_entropy_gradient", ins(rows), {"%y": rows}, attributes)
        text += function_text(f"loss{width}", "cross_entropy", {"%x": rows, "%l": "memref<?xi64>"}, loss, attributes)
        text += function_text(f"both{width}", "cross_entropy_gradient", ins(rows), {"%w": words, **loss}, attributes)
    library = nests.build(text, BF16_ARCH)
    for width in sizes:
        x, labels, dloss = normal(7, width) * 5, random.integers(0, width, 7), np.array(0.7, np.float32)
        labels[3] = -100
        y, (words, whole), loss, wanted = garbage(7, width), untouched(7, width), garbage(), garbage()
        nests.call(library[f"plain{width}"], x, labels, dloss, y)
        nests.call(library[f"loss{width}"], x, labels, wanted, garbage(7))
        nests.call(library[f"both{width}"], x, labels, dloss, words, loss, garbage(7))
        ok = np.array_equal(words, pairs(y, 1)) and (whole[:, words_of(width) :] == 77).all() and loss == wanted
        check(f"cross_entropy_gradient {width} words and loss", bool(ok))


def check_sums():
    if not has_bf16:
        return
    text = "".join(function_text(f"f{width}", "sum_rows", {"%x": rows_types(width)[1]}, {"%y": memref(width)}, "") for width in WIDTHS)
    library = nests.build(text, BF16_ARCH)
    for width in WIDTHS:
        for count in (*COUNTS, 700):
            x, y, (words, whole) = rows_of_sizes(count, width), garbage(width), untouched(count, width)
            words[:] = pairs(x, 1)
            nests.call(library[f"f{width}"], words, y)
            wanted = quantize.to_bf16(x).astype(np.float64).cumsum(0)[-1:].sum(0).astype(np.float32)
            check(f"sum_rows of words {width} rows {count}", np.array_equal(y, wanted))


def check_weight_gradients():
    """Products over tokens of words are those of what they were rounded from."""
    if not has_bf16:
        return
    height, width = 8, 2 * nests.vector_lanes(BF16_ARCH)
    sizes = [(1, 1), (5, 3), (height, width), (37, 70), (64, 64), (130, 33), (600, 256), (256, 601)]
    text = ""
    for m, n in sizes:
        strips, panels, c = f"memref<{-(-m // height)}x?x{height}xi32>", f"memref<{-(-n // width)}x?x{width}xi32>", memref(m, n)
        for name, a, b in ((f"{of_a}{of_b}{m}x{n}", rows_types(m)[of_a == "w"], rows_types(n)[of_b == "w"]) for of_a in "fw" for of_b in "fw"):
            text += f"""
func.func @{name}(%a: {a}, %b: {b}, %c: {c}, %s: {strips}, %p: {panels}) {{
  transformer_cpu.weight_gradient ins(%a, %b) outs(%c, %s, %p) : ({a}, {b}, {c}, {strips}, {panels}) -> ()
  return
}}"""
    library = nests.build(text, BF16_ARCH)
    for m, n in sizes:
        for tokens in (0, 1, 2, 37, 300):
            a, b = normal(tokens, m), normal(tokens, n)
            held = {"fa": a, "fb": b, "wa": untouched(tokens, m)[0], "wb": untouched(tokens, n)[0]}
            held["wa"][:], held["wb"][:] = pairs(a, 1), pairs(b, 1)
            found = {}
            for of_a in "fw":
                for of_b in "fw":
                    c, scratch = garbage(m, n), [np.full((-(-size // part), -(-tokens // 2), part), 77, np.int32) for size, part in ((m, height), (n, width))]
                    nests.call(library[f"{of_a}{of_b}{m}x{n}"], held[f"{of_a}a"], held[f"{of_b}b"], c, *scratch)
                    found[of_a + of_b] = c.tobytes()
            check(f"weight_gradient {m}x{n} tokens {tokens} of words", len(set(found.values())) == 1)


run_checks(check_norms, check_norm_sums, check_dropout, check_cross_entropy, check_losses, check_sums, check_weight_gradients)
