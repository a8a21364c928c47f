#!/usr/bin/env python3
"""Attention to a cache of bfloat16 or float16 by a GPU's tensor cores, run by its driver (here an emulated one), beside what
the op's definition says of it: masks, windows, biases, heads that share keys, heads and pages of several sizes. A row has
the same bits whether its sequence comes at once, in parts or token by token, in whatever company: many new rows and single
ones are different kernels. TRANSFORMER_TEST_TARGET says what for."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gpu_attention import DIGITS, FLOAT32, GRID, SCALE, Attention, Expected, attend_rows, quantize
from harness import Report, compile_program, execute, run_on_gpu
from safetensors.numpy import load_file, save_file

LENGTHS = (70, 1, 133, 64)
PAGE = 64  # positions, of most cases
PARTS = (13, 51, 1, 2, 66)  # tokens of a call, in turn


@dataclass
class Paged(Attention):
    page: int = PAGE

    @property
    def types(self) -> dict[str, str]:
        kv = self.kv_heads * self.head
        types = {"q": f"tensor<?x{self.width}xf32>", "k": f"tensor<?x{kv}xf32>", "v": f"tensor<?x{kv}xf32>"}
        return types | {"cache": f"tensor<?x{2 * self.page}x{kv}xf32>"}


CASES = (
    Paged("plain", 2, 2, 64, causal=True, page=128),
    Paged("grouped", 8, 2, 64, causal=True),
    Paged("many", 20, 1, 16, causal=True),  # more heads than a tile has rows
    Paged("all", 2, 1, 64),
    Paged("wide", 1, 1, 128, causal=True),
    Paged("widest", 2, 1, 256, causal=True, window=40),
    Paged("window", 3, 1, 32, causal=True, window=70),
    Paged("slopes", 2, 2, 16, causal=True, bias=(2,)),
    Paged("table", 2, 1, 20, causal=True, bias=(2, 9)),
    Paged("odd", 3, 3, 5, causal=True),
    Paged("too_wide", 1, 1, 264, causal=True),
    Paged("small_pages", 1, 1, 32, causal=True, page=16),  # tiles would have several
)


def parameters(case: Paged) -> dict[str, tuple[int, ...]]:
    widths = {"q": case.width, "k": case.kv_heads * case.head, "v": case.kv_heads * case.head}
    shapes = {f"{case.name}.{what}": (sum(LENGTHS), width) for what, width in widths.items()}
    return shapes | ({f"{case.name}.bias": case.bias} if case.bias else {})


def tensor(shape: tuple[int, ...]) -> str:
    return f"tensor<{'x'.join(map(str, shape))}xf32>"


def body(case: Paged) -> list[str]:
    shapes = {name.partition(".")[2]: tensor(shape) for name, shape in parameters(case).items()}
    at, types = f"%{case.name}", case.types
    lines = [f"  {at}.{what} = transformer.get_parameter @{case.name}.{what} : {kind}" for what, kind in shapes.items()]
    lines += [f"  {at}.rows_{what} = transformer.embedding %tokens, {at}.{what} : tensor<?xi64>, {shapes[what]} -> {types[what]}" for what in "qkv"]
    pages = "sequences(%seq) pages(%table : tensor<?x?xi64>, %lengths : tensor<?xi64>)"
    rows = f"{types['k']}, {types['v']}, {types['cache']}"
    lines.append(f"  {at}.new = transformer.append_pages {at}.rows_k, {at}.rows_v, {at}.cache {pages} {{num_heads = {case.kv_heads} : i64}} : {rows}")
    bias = f" position_bias({at}.bias : {shapes['bias']})" if case.bias else ""
    sizes = f"num_heads = {case.heads} : i64, num_kv_heads = {case.kv_heads} : i64, scale = {SCALE} : f64"
    lines.append(f"  {at}.y = transformer.paged_attention {at}.rows_q, {at}.new {pages}{bias} {case.options} {{{sizes}}} : {types['q']}, {types['cache']} -> {types['q']}")
    lines.append(f"  {at}.grid = transformer.unpack_tokens {at}.y, %seq : {types['q']} -> tensor<?x?x{case.width}xf32>")
    return lines


def model_text() -> str:
    declared = [f"transformer.parameter @{name} : {tensor(shape)}" for case in CASES for name, shape in parameters(case).items()]
    dims = 'transformer.dims = ["batch", "length"]'
    arguments = [
        f'%ids: {GRID} {{transformer.name = "ids", transformer.range = array<i64: 0, {sum(LENGTHS)}>, {dims}}}',
        f'%mask: {GRID} {{transformer.name = "mask", {dims}}}',
        f'%table: {GRID} {{transformer.name = "table", transformer.below = "pages", transformer.dims = ["batch", "pages_of_sequence"]}}',
        '%lengths: tensor<?xi64> {transformer.name = "lengths", transformer.dims = ["batch"]}',
    ]
    states = {case.name: f'{case.types["cache"]} {{transformer.state = "{case.name}.cache", transformer.dims = ["pages"]}}' for case in CASES}
    arguments += [f"%{case.name}.cache: {states[case.name]}" for case in CASES]
    lines = [f"  %tokens, %seq = transformer.pack_tokens(%ids) mask(%mask) : ({GRID}), {GRID} -> tensor<?xi64>"]
    for case in CASES:
        lines += body(case)
    kinds = {case.name: f"tensor<?x?x{case.width}xf32>" for case in CASES}
    results = [states[case.name] for case in CASES] + [f'{kinds[case.name]} {{transformer.name = "{case.name}", {dims}}}' for case in CASES]
    values = [f"%{case.name}.new" for case in CASES] + [f"%{case.name}.grid" for case in CASES]
    types = [case.types["cache"] for case in CASES] + [kinds[case.name] for case in CASES]
    head = f"func.func @step({', '.join(arguments)}) -> ({', '.join(results)}) attributes {{transformer.entry}} {{"
    return "\n".join([*declared, head, *lines, f"  return {', '.join(values)} : {', '.join(types)}", "}\n"])


class Model:
    def __init__(self, folder: Path, compiler: Path, form: str):
        random = np.random.default_rng(7)
        folder.mkdir()
        self.form, self.folder, self.program = form, folder, folder / "program"
        source = folder / "model.mlir"
        source.write_text(model_text())
        compile_program(compiler, source, self.program, *quantize.options(form))
        self.weights = {name: random.standard_normal(shape).astype(np.float32) for case in CASES for name, shape in parameters(case).items()}
        save_file(self.weights, folder / "weights.safetensors")
        pages = -(-max(LENGTHS) // min(case.page for case in CASES))
        self.pages = random.permutation(len(LENGTHS) * pages).reshape(len(LENGTHS), pages)


class Session:
    """Caches from call to call."""

    def __init__(self, model: Model):
        self.model, self.done, self.started = model, np.zeros(len(LENGTHS), np.int64), False
        self.rows: list[list[dict[str, np.ndarray]]] = [[] for _ in LENGTHS]

    def step(self, sequences: list[int], counts: list[int]) -> None:
        """The next tokens of some of the sequences."""
        folder, starts = self.model.folder, np.cumsum((0, *LENGTHS))
        ids, mask = (np.zeros((len(sequences), max(counts)), np.int64) for _ in range(2))
        for row, (i, count) in enumerate(zip(sequences, counts, strict=True)):
            ids[row, :count] = starts[i] + self.done[i] + np.arange(count)
            mask[row, :count] = 1
        self.done[sequences] += counts
        save_file({"ids": ids, "mask": mask, "table": self.model.pages[sequences], "lengths": self.done[sequences]}, folder / "in.safetensors")
        files = ["--weights", folder / "weights.safetensors", "--inputs", folder / "in.safetensors", "--outputs", folder / "out.safetensors"]
        state = folder / "state.safetensors"
        before = ["--state-in", state] if self.started else ["--size", f"pages={self.model.pages.size}"]
        self.started = True
        done = execute([self.model.program, "run", "--entry", "step", *files, *before, "--state-out", state])
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.complaint()}")
        outputs = load_file(folder / "out.safetensors")
        for row, (i, count) in enumerate(zip(sequences, counts, strict=True)):
            self.rows[i].append({name: y[row, :count] for name, y in outputs.items()})

    def of(self, case: Paged, sequence: int) -> np.ndarray:
        return np.concatenate([rows[case.name] for rows in self.rows[sequence]])


def at_once(model: Model) -> Session:
    session = Session(model)
    session.step(list(range(len(LENGTHS))), list(LENGTHS))
    return session


def by_tokens(model: Model) -> Session:
    """Single ones behind a first part, in a batch that gets smaller."""
    session = Session(model)
    session.step(list(range(len(LENGTHS))), [max(1, n - 3) for n in LENGTHS])
    while left := [i for i, n in enumerate(LENGTHS) if session.done[i] < n]:
        session.step(left, [1] * len(left))
    return session


def in_parts(model: Model) -> Session:
    """Other sequences in between, and parts of one token beside longer ones."""
    session = Session(model)
    for call in range(len(PARTS)):
        left = [i for i in reversed(range(len(LENGTHS))) if session.done[i] < LENGTHS[i]]
        if left:
            session.step(left, [int(min(PARTS[(call + i) % len(PARTS)], LENGTHS[i] - session.done[i])) for i in left])
    return session


def expected(case: Paged, model: Model, sequence: int) -> Expected:
    rows = slice(sum(LENGTHS[:sequence]), sum(LENGTHS[: sequence + 1]))
    narrow = quantize.HALVES[model.form.partition("/")[0]]
    q, k, v = (narrow(model.weights[f"{case.name}.{what}"][rows]).astype(np.float64) for what in "qkv")
    return attend_rows(case, q, k, v, model.weights.get(f"{case.name}.bias"), model.form)


def why_wrong(case: Paged, model: Model, whole: Session) -> str | None:
    wanted = [expected(case, model, i) for i in range(len(LENGTHS))]
    rounded, magnitude = (np.concatenate([getattr(each, what) for each in wanted]) for what in ("rounded", "magnitude"))
    y = np.concatenate([whole.of(case, i) for i in range(len(LENGTHS))]).astype(np.float64)
    if not np.isfinite(y).all():
        return "not all are numbers"
    errors = np.abs(y - rounded) / magnitude
    share = float((errors > FLOAT32).mean())
    print(f"{case.name}: error {np.median(errors):.1e}, {errors.max():.1e} at most, {share:.3%} of another weight")
    if errors.max() > 2.0 ** (1 - DIGITS[model.form]):
        return f"off by {errors.max():.2e} of what is added"
    return None if share < 0.05 else f"{share:.1%} of all numbers are off by more than {FLOAT32} of what is added"


def why_other_bits(model: Model, whole: Session, other: Session) -> str | None:
    for case in CASES:
        for i, length in enumerate(LENGTHS):
            if other.done[i] != length:
                return f"sequence {i}: {other.done[i]} tokens of {length}"
            last = slice(None) if case.causal else slice(-1, None)  # who sees all keys has seen fewer before
            if whole.of(case, i)[last].tobytes() != other.of(case, i)[last].tobytes():
                return f"{case.name}, sequence {i}: other bits"
    return None


def check(compiler: Path, folder: Path, report: Report, forms: Sequence[str]) -> None:
    for form in forms:
        model = Model(folder / form.partition("/")[0], compiler, form)
        whole = at_once(model)
        for case in CASES:
            report.add(f"paged attention/{case.name} {form}", why_wrong(case, model, whole))
        for name, other in {"token by token": by_tokens, "in parts": in_parts}.items():
            report.add(f"paged attention {form}: bits {name}", why_other_bits(model, whole, other(model)))


if __name__ == "__main__":
    sys.exit(run_on_gpu(__doc__, "paged attention", check, tuple(DIGITS)))
