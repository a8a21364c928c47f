#!/usr/bin/env python3
"""Linear layers of a GPU's program, run by its driver (here an emulated one), beside float64 products, from which
they are no further than sums of float32 one term after the other, or on tensor cores sums that are truncated instruction
by instruction: both layouts,
widths that 16 bytes, 8, 4 or 2 divide or none, sums shorter and longer than a tile, in float32, with narrow weights, and
with rows of bfloat16, float16 and TF32 on tensor cores. A row has the same bits among any number of rows, few (a tile of its own) and many;
what weights of bfloat16 give are the bits of float32 on the rounded ones. TRANSFORMER_TEST_TARGET says what for."""

import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from harness import Report, compile_program, run_on_gpu
from weights_dtype import Model, differing, quantize

# The layout's last size is what neighbours in memory are along.
LAYERS = (
    ("a", 256, 136, "out_in"),
    ("b", 264, 192, "in_out"),
    ("c", 300, 131, "out_in"),
    ("d", 70, 26, "in_out"),
    ("e", 33, 7, "out_in"),
    ("f", 33, 7, "in_out"),
    ("g", 5000, 35, "out_in"),
    ("h", 72, 296, "in_out"),
    ("i", 75, 261, "out_in"),
)
ROWS = 150
# Tiles of rows in more than one group, of the last one fewer, and two of columns.
TALL = (("t", 16, 264, "out_in"),)
TALL_ROWS = 2400
PARTS = ((0, 1), (40, 2), (3, 15), (0, 16), (100, 16), (5, 17), (20, 128), (7, 129))  # from, how many
# Pairs of the same numbers, a sum each that boxes of 16 bytes' multiples do not divide and the same with zeros behind
# it, which they do: more steps than stages, tiles for several turns of a few multiprocessors.
BOTH = (
    ("oddrows", 388, 264, "out_in"),
    ("evenrows", 392, 264, "out_in"),
    ("oddcolumns", 388, 264, "in_out"),
    ("evencolumns", 392, 264, "in_out"),
)
BOTH_ROWS = 300
DEPTHS = dict.fromkeys(quantize.HALF_ROWS, 16) | {quantize.TF32: 8}  # of a tensor core's instruction
OTHER_ORDER = 1.25  # an error of sums of the same terms, at most
FORMS = ("f32", *quantize.FORMATS, "f16", "int8/int8", *quantize.HALF_ROWS, quantize.TF32)


def one_after_the_other(x: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Products in float32, each term added with one rounding: a thread, which sums fours on their own, is nearer."""
    total = np.zeros((len(x), len(weight)), np.float32)
    for terms_x, terms_w in zip(x.T.astype(np.float64), weight.T.astype(np.float64)):
        total = (total + np.multiply.outer(terms_x, terms_w)).astype(np.float32)
    return total


def of_tensor_cores(x: np.ndarray, weight: np.ndarray, depth: int) -> np.ndarray:
    """Sums to which an instruction adds `depth` exact products, and truncates: on an H200 most have these bits."""
    total, x, weight = np.zeros((len(x), len(weight)), np.float32), x.astype(np.float64), weight.astype(np.float64)
    for k in range(0, x.shape[1], depth):
        exact = total + x[:, k : k + depth] @ weight[:, k : k + depth].T
        total = exact.astype(np.float32)
        beyond = np.abs(total.astype(np.float64)) > np.abs(exact)
        total[beyond] = np.nextafter(total[beyond], np.float32(0))
    return total


def why_not_exact(model: Model, found: dict[str, np.ndarray], form: str) -> str | None:
    weights = model.weights if form == "f32" else model.rounded(form)
    rows = model.rows(form)
    for name, k, *_ in model.layers:
        weight = {name: weights[name]}
        sums = {f"y{name}": one_after_the_other(rows[f"x{name}"], weights[name])}
        error, allowed = model.error(found, weight, rows), model.error(sums, weight, rows)
        if depth := DEPTHS.get(form):
            sums = {f"y{name}": of_tensor_cores(rows[f"x{name}"], weights[name], depth)}
            allowed = max(allowed, OTHER_ORDER * model.error(sums, weight, rows))
        print(f"{form}, {name}: error {error:.2e}, allowed {allowed:.2e}")
        if not error <= allowed:
            return f"layer {name}, a sum of {k}: error {error:.2e}, allowed {allowed:.2e}"
    return None


def check_rows(model: Model, program: Path, whole: dict[str, np.ndarray]) -> str | None:
    for first, count in PARTS:
        found = model.run(program, model.plain, slice(first, first + count))
        if reason := differing(found, {name: y[first : first + count] for name, y in whole.items()}):
            return f"{count} rows from {first} on: {reason}"
    return None


def why_tall_not_exact(compiler: Path, folder: Path, form: str) -> str | None:
    folder.mkdir()
    model, program = Model(folder, TALL, TALL_ROWS), folder / "program"
    compile_program(compiler, model.source, program, *quantize.options(form))
    return why_not_exact(model, model.run(program, model.plain, slice(None)), form)


def why_not_both_ways(compiler: Path, folder: Path, form: str) -> str | None:
    """What is copied by boxes gives the bits of what all threads copy."""
    folder.mkdir()
    model, program = Model(folder, BOTH, BOTH_ROWS), folder / "program"
    for kind in ("rows", "columns"):
        for held, odd, even in ((model.weights, f"odd{kind}", f"even{kind}"), (model.x, f"xodd{kind}", f"xeven{kind}")):
            held[even] = np.pad(held[odd], ((0, 0), (0, 4)))
    compile_program(compiler, model.source, program, *quantize.options(form))
    found = model.run(program, model.save("padded.safetensors", model.weights), slice(None))
    if reason := why_not_exact(model, found, form):
        return reason
    return differing(
        {name: found[name.replace("even", "odd")] for name in found}, {name: y for name, y in found.items() if "even" in name}
    )


def check(compiler: Path, folder: Path, report: Report, forms: Sequence[str]) -> None:
    model = Model(folder, LAYERS, ROWS)
    programs = {}
    for form in forms:
        name = form.replace("/", "-")
        programs[form] = folder / name
        compile_program(compiler, model.source, programs[form], *(quantize.options(form) if form != "f32" else []))
        whole = model.run(programs[form], model.plain, slice(None))
        report.add(f"products/{form}: against float64", why_not_exact(model, whole, form))
        report.add(f"products/{form}: a row's bits", check_rows(model, programs[form], whole))
        if form in (*quantize.HALF_ROWS, quantize.TF32):
            report.add(f"products/{form}: both ways", why_not_both_ways(compiler, folder / f"both-{name}", form))
            report.add(f"products/{form}: many rows", why_tall_not_exact(compiler, folder / f"tall-{name}", form))
        if form == "bf16" and "f32" in programs:
            rounded = model.save("rounded.safetensors", model.rounded(form))
            plain = model.run(programs["f32"], rounded, slice(None))
            report.add("products/bf16: bits of float32", differing(whole, plain))


if __name__ == "__main__":
    sys.exit(run_on_gpu(__doc__, "products", check, FORMS))
