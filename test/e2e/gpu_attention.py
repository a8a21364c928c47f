#!/usr/bin/env python3
"""Attention on rows of bfloat16 or float16 by a GPU's tensor cores, run by its driver (here an emulated one), beside what the op's
definition says of them (weights rounded likewise, the rest exact): masks, windows, biases, dropout, heads that share
keys, heads of any size, other sequences' keys, merged projections; sequences are empty, short, longer than a tile and
than all tiles that are in memory at once. Weights on the edge between two numbers may fall to the other side, which few
numbers see; what else there is of an error is float32's. A row has the same bits whatever is beside it, even NaNs. TRANSFORMER_TEST_TARGET says what for."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute, run_on_gpu
from safetensors.numpy import load_file, save_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import quantize  # noqa: E402
from dropout import factors  # noqa: E402

GRID = "tensor<?x?xi64>"
# Queries without keys, keys without queries, fewer keys than queries, more tiles of keys than may be on their way.
LENGTHS = {"a": (70, 0, 1, 133, 9), "b": (130, 3, 1, 140, 0), "c": (30, 0, 5, 700, 0)}
DIGITS = {"bf16/bf16": 8, "f16/f16": 11}


@dataclass
class Attention:
    name: str
    heads: int
    kv_heads: int
    head: int
    causal: bool = False
    window: int = 0
    bias: tuple[int, ...] = ()
    memory: str = "a"
    merged: bool = False  # rows are columns of one projection
    dropout: float = 0

    @property
    def width(self) -> int:
        return self.heads * self.head

    @property
    def options(self) -> str:
        options = ["causal"] * self.causal + [f"window = {self.window}"] * bool(self.window) + [f"dropout = {self.dropout}"] * bool(self.dropout)
        return f"options<{', '.join(options)}>" if options else ""


CASES = (
    Attention("plain", 2, 2, 64),
    Attention("causal", 4, 2, 64, causal=True, merged=True),
    Attention("wide", 1, 1, 128, causal=True),
    Attention("widest", 1, 1, 256, window=40),
    Attention("window", 3, 1, 32, causal=True, window=50, memory="b"),
    Attention("slopes", 2, 2, 16, causal=True, bias=(2,)),
    Attention("table", 2, 1, 20, bias=(2, 9), memory="b"),
    Attention("odd", 3, 3, 5, window=3),
    Attention("dropped", 4, 2, 24, window=90, dropout=0.3),
    Attention("too_wide", 1, 1, 264, causal=True),
    Attention("long", 2, 1, 64, causal=True, memory="c"),
    Attention("long_table", 2, 2, 80, window=400, bias=(2, 9), memory="c"),
    Attention("long_dropped", 3, 1, 112, memory="c", dropout=0.2),
)
SCALE, KEY = 0.3, 0x0123456789ABCDEF
FLOAT32 = 1e-5  # of what is added


def parameters(case: Attention) -> dict[str, tuple[int, ...]]:
    rows = {side: sum(lengths) for side, lengths in LENGTHS.items()}
    kv = case.kv_heads * case.head
    shapes = {f"{case.name}.k": (rows[case.memory], kv), f"{case.name}.v": (rows[case.memory], kv)}
    if case.merged:
        shapes = {f"{case.name}.{what}": (width, 24) for what, width in (("wq", case.width), ("wk", kv), ("wv", kv))}
        shapes[f"{case.name}.x"] = (rows["a"], 24)
    else:
        shapes[f"{case.name}.q"] = (rows["a"], case.width)
    if case.bias:
        shapes[f"{case.name}.bias"] = case.bias
    return shapes


def body(case: Attention) -> list[str]:
    types = {name.partition(".")[2]: f"tensor<{'x'.join(map(str, shape))}xf32>" for name, shape in parameters(case).items()}
    lines = [f"  %{case.name}.{what} = transformer.get_parameter @{case.name}.{what} : {kind}" for what, kind in types.items()]
    q, kv = f"tensor<?x{case.width}xf32>", f"tensor<?x{case.kv_heads * case.head}xf32>"
    rows = {what: f"%{case.name}.rows_{what}" for what in "qkvx"}

    def embed(what: str, side: str, kind: str) -> str:
        return f"  {rows[what]} = transformer.embedding %{side}, %{case.name}.{what} : tensor<?xi64>, {types[what]} -> {kind}"

    if case.merged:
        lines.append(embed("x", "a", "tensor<?x24xf32>"))
        for what, kind in (("q", q), ("k", kv), ("v", kv)):
            weight = f"%{case.name}.w{what} out_in : tensor<?x24xf32>, {types[f'w{what}']} -> {kind}"
            lines.append(f"  {rows[what]} = transformer.linear {rows['x']}, {weight}")
    else:
        lines += [embed("q", "a", q), embed("k", case.memory, kv), embed("v", case.memory, kv)]
    bias = f" position_bias(%{case.name}.bias : {types['bias']})" if case.bias else " dropout_key(%key)" if case.dropout else ""
    sizes = f"num_heads = {case.heads} : i64, num_kv_heads = {case.kv_heads} : i64, scale = {SCALE} : f64"
    lines.append(f"  %{case.name}.y = transformer.attention {rows['q']}, {rows['k']}, {rows['v']} sequences(%seq_a, %seq_{case.memory})"
                 f"{bias} {case.options} {{{sizes}}} : {q}, {kv}, {kv} -> {q}")
    lines.append(f"  %{case.name}.grid = transformer.unpack_tokens %{case.name}.y, %seq_a : {q} -> tensor<?x?x{case.width}xf32>")
    return lines


def model_text() -> str:
    lines, arguments = [f"  %key = arith.constant {KEY} : i64"], []
    for side, lengths in LENGTHS.items():
        dims = f'transformer.dims = ["batch", "length_{side}"]'
        arguments.append(f'%ids_{side}: {GRID} {{transformer.name = "ids_{side}", transformer.range = array<i64: 0, {sum(lengths)}>, {dims}}}')
        arguments.append(f'%mask_{side}: {GRID} {{transformer.name = "mask_{side}", {dims}}}')
        lines.append(f"  %{side}, %seq_{side} = transformer.pack_tokens(%ids_{side}) mask(%mask_{side}) : ({GRID}), {GRID} -> tensor<?xi64>")
    results = ", ".join(f'tensor<?x?x{case.width}xf32> {{transformer.name = "{case.name}", transformer.dims = ["batch", "length_a"]}}' for case in CASES)
    declared = [f"transformer.parameter @{name} : tensor<{'x'.join(map(str, shape))}xf32>" for case in CASES for name, shape in parameters(case).items()]
    for case in CASES:
        lines += body(case)
    values, types = (", ".join(each) for each in zip(*((f"%{case.name}.grid", f"tensor<?x?x{case.width}xf32>") for case in CASES)))
    head = f"func.func @forward({', '.join(arguments)}) -> ({results}) attributes {{transformer.entry}} {{"
    return "\n".join([*declared, head, *lines, f"  return {values} : {types}", "}\n"])


def round_weights(x: np.ndarray, form: str) -> np.ndarray:
    """To as many bits, whatever the exponent; of float16 an instruction makes multiples of 2**-24 of what is less."""
    significand, exponent = np.frexp(x)
    if form == "f16/f16":
        exponent = np.maximum(exponent, -13)
        significand = np.ldexp(x, -exponent)
    return np.ldexp(np.rint(significand * 2 ** DIGITS[form]), exponent - DIGITS[form])


@dataclass
class Expected:
    exact: np.ndarray  # with weights that are not rounded
    rounded: np.ndarray
    magnitude: np.ndarray  # of what is added


def attend(case: Attention, weights: dict[str, np.ndarray], sequence: int, form: str) -> Expected:
    """A sequence's rows, all heads."""
    ends = {side: np.cumsum((0, *lengths)) for side, lengths in LENGTHS.items()}
    rows = {side: slice(end[sequence], end[sequence + 1]) for side, end in ends.items()}
    of = {name.partition(".")[2]: value for name, value in weights.items() if name.startswith(f"{case.name}.")}
    narrow = quantize.HALVES[form.partition("/")[0]]
    if case.merged:
        x = narrow(of["x"]).astype(np.float64)
        of |= {what: (x @ narrow(of[f"w{what}"]).astype(np.float64).T).astype(np.float32) for what in "qkv"}
    q, k, v = (narrow(of[what][rows[side]]).astype(np.float64) for what, side in (("q", "a"), ("k", case.memory), ("v", case.memory)))
    return attend_rows(case, q, k, v, of.get("bias"), form, rows["a"].start)


def attend_rows(case: Attention, q: np.ndarray, k: np.ndarray, v: np.ndarray, bias: np.ndarray | None, form: str, first: int = 0) -> Expected:
    """Of rows that have been rounded, the first of which is the `first` of all."""
    found = Expected(*(np.zeros(q.shape) for _ in range(3)))
    distance = np.arange(len(k)) - (np.arange(len(q)) + len(k) - len(q))[:, None]
    seen = np.ones(distance.shape, bool)
    if case.causal:
        seen &= distance <= 0
    if case.window:
        seen &= np.abs(distance) < case.window
    for head in range(case.heads):
        at, group = slice(head * case.head, (head + 1) * case.head), head // (case.heads // case.kv_heads)
        other = slice(group * case.head, (group + 1) * case.head)
        scores = np.where(seen, q[:, at] @ k[:, other].T * SCALE, -np.inf)
        if case.bias:
            table = bias[head]
            reach = np.size(table) // 2
            scores += table[np.clip(distance + reach, 0, 2 * reach)] if np.ndim(table) else -table * np.abs(distance)
        there = seen.any(1)
        # A power of 2 lessens the scores: what is rounded does not depend on which.
        highest = scores[there].max(1, keepdims=True, initial=-np.inf)
        p = np.exp(scores[there] - np.log(2) * np.ceil(highest / np.log(2)))
        total = p.sum(1, keepdims=True)
        if case.dropout:
            p *= factors(KEY, case.dropout, first + np.flatnonzero(there), np.arange(len(k)), head + 1)
        found.exact[there, at] = p @ v[:, other] / total
        found.rounded[there, at] = round_weights(p, form) @ v[:, other] / total
        found.magnitude[there, at] = p @ np.abs(v[:, other]) / total
    return found


class Model:
    def __init__(self, folder: Path, compiler: Path, form: str):
        random = np.random.default_rng(7)
        folder.mkdir()
        self.form, self.folder, self.program = form, folder, folder / "program"
        source = folder / "model.mlir"
        source.write_text(model_text())
        compile_program(compiler, source, self.program, *quantize.options(form))
        weights = {
            name: (random.standard_normal(shape) / (shape[1] ** 0.5 if ".w" in name else 1)).astype(np.float32)
            for case in CASES
            for name, shape in parameters(case).items()
        }
        self.use(weights)

    def use(self, weights: dict[str, np.ndarray]) -> None:
        self.weights = weights
        save_file(weights, self.folder / "weights.safetensors")

    def run(self, sequences: tuple[int, ...], columns: int = 0) -> list[dict[str, np.ndarray]]:
        """Each sequence's rows of all outputs, with at least that many columns."""
        inputs = {}
        for side, lengths in LENGTHS.items():
            starts = np.cumsum((0, *lengths))
            width = max(columns, 1, *(lengths[i] for i in sequences))
            ids, mask = (np.zeros((len(sequences), width), np.int64) for _ in range(2))
            for row, i in enumerate(sequences):
                ids[row, : lengths[i]] = np.arange(starts[i], starts[i + 1])
                mask[row, : lengths[i]] = 1
            inputs |= {f"ids_{side}": ids, f"mask_{side}": mask}
        save_file(inputs, self.folder / "in.safetensors")
        files = ["--weights", self.folder / "weights.safetensors", "--inputs", self.folder / "in.safetensors", "--outputs", self.folder / "out.safetensors"]
        done = execute([self.program, "run", *files])
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.complaint()}")
        outputs = load_file(self.folder / "out.safetensors")
        return [{name: y[row, : LENGTHS["a"][i]] for name, y in outputs.items()} for row, i in enumerate(sequences)]


def why_wrong(case: Attention, model: Model, found: list[dict[str, np.ndarray]]) -> str | None:
    wanted = [attend(case, model.weights, i, model.form) for i in range(len(found))]
    exact, rounded, magnitude = (np.concatenate([getattr(each, what) for each in wanted]) for what in ("exact", "rounded", "magnitude"))
    y = np.concatenate([each[case.name] for each in found]).astype(np.float64)
    if not np.isfinite(y).all() or np.abs(y[magnitude == 0]).max(initial=0):
        return "rows without keys are not zeros, or not all are numbers"
    errors, roundings = (np.abs(each - rounded) / np.maximum(magnitude, 1e-30) for each in (y, exact))
    share = float((errors > FLOAT32).mean())
    print(f"{case.name}: error {np.median(errors):.1e}, {errors.max():.1e} at most, {share:.3%} of another weight; rounding {np.median(roundings):.1e}")
    if errors.max() > 2.0 ** (1 - DIGITS[model.form]):
        return f"off by {errors.max():.2e} of what is added"
    return None if share < 0.05 else f"{share:.1%} of all numbers are off by more than {FLOAT32} of what is added"


def check_rows(model: Model, whole: list[dict[str, np.ndarray]]) -> str | None:
    for sequences, columns in (((3,), 0), ((4, 0), 150), ((2,), 0)):
        for i, found in zip(sequences, model.run(sequences, columns)):
            for name in (case.name for case in CASES if not case.dropout):  # whose numbers belong to the row's place
                if (y := found[name]).tobytes() != whole[i][name].tobytes():
                    return f"{name}, sequence {i} of {sequences}: other bits"
    return None


def check_neighbours(model: Model, whole: list[dict[str, np.ndarray]]) -> str | None:
    """The last sequence's rows, behind the others' keys and values, are no numbers."""
    sides = {f"{case.name}.{what}": case.memory if what in "kv" else "a" for case in CASES for what in ("q", "k", "v", "x")}
    usual, weights = model.weights, {}
    for name, value in usual.items():
        weights[name] = value.copy()
        if name in sides and (last := LENGTHS[sides[name]][-1]):
            weights[name][-last:] = np.nan
    model.use(weights)
    found = model.run(tuple(range(len(LENGTHS["a"]))))
    model.use(usual)
    for case in CASES:
        for i in range(len(found) - 1):
            if found[i][case.name].tobytes() != whole[i][case.name].tobytes():
                return f"{case.name}, sequence {i}: other bits"
        if LENGTHS[case.memory][-1] and not np.isnan(found[-1][case.name]).all():
            return f"{case.name}: the last sequence has numbers"
    return None


def check(compiler: Path, folder: Path, report: Report, forms: Sequence[str]) -> None:
    for form in forms:
        model = Model(folder / form.partition("/")[0], compiler, form)
        whole = model.run(tuple(range(len(LENGTHS["a"]))))
        for case in CASES:
            report.add(f"attention/{case.name} {form}", why_wrong(case, model, whole))
        report.add(f"attention {form}: a row's bits", check_rows(model, whole))
        report.add(f"attention {form}: beside what is no number", check_neighbours(model, whole))


if __name__ == "__main__":
    sys.exit(run_on_gpu(__doc__, "attention", check, tuple(DIGITS)))
