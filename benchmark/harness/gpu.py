"""Programs on a GPU beside their peers: rows of one form, and their table.

A row: part, shape, the milliseconds of each contestant, the operations and bytes that it takes at least, gaps.
Products and attention are the time of kernels alone, all else is from inputs of the host to results of the host.
"""

from __future__ import annotations

import json
import os
import statistics
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np

from harness.checkpoints import TITLES, Encoder, checkpoint, model_cache
from harness.generation import measure_generation
from harness.measure import Options, contestants_of, note, rounds_of, runs_of
from harness.ops import build, row_ids
from harness.processes import Failure, Ours, Peer, compile_program, environment, pinned, run_json
from harness.report import number, percent, table
from harness.shapes import Arrays, make_inputs
from harness.training import measure_training

# Dense products of bfloat16 a second, and bytes of memory a second, as data sheets have them.
PEAKS = {
    "A100": (312e12, 2.039e12),
    "H100": (989e12, 3.35e12),
    "H200": (989e12, 4.8e12),
    "B200": (2250e12, 8.0e12),
}
TIMES = 20  # that a peer does an op behind itself, so that the host's part does not count
AGREEMENT = 0.05  # of all outputs, over their size: between bfloat16's roundings
THREADS = os.cpu_count() or 1


def peaks_of(gpu: str) -> tuple[float, float] | None:
    return next((peaks for name, peaks in PEAKS.items() if name in gpu), None)


# --- ops: times of kernels ---------------------------------------------------------------------------


def kernel_ms(trace: dict, op: str) -> list[float]:
    """Of each call the sum of the times of an op's kernels, from a profile."""
    events = trace["traceEvents"]
    device = next((e["tid"] for e in events if e["ph"] == "M" and e["args"]["name"] == "GPU"), None)
    if device is None:
        raise Failure("the profile has no kernels of a GPU")
    spans = [event for event in events if event["ph"] == "X"]
    kernels = [event for event in spans if event["tid"] == device and event["name"].split()[0] == op]
    if not kernels:
        raise Failure(f"the profile has no kernel of {op}")
    calls = [event for event in spans if event["name"] == "call"]
    inside = lambda k, call: call["ts"] <= k["ts"] <= call["ts"] + call["dur"]
    return [sum(k["dur"] for k in kernels if inside(k, call)) * 1e-3 for call in calls]


class OurKernels:
    """The kernels of one op in a program around it."""

    def __init__(self, op: str, program: Path, weights: Path, inputs: Arrays) -> None:
        from safetensors.numpy import save_file

        self.op, self.program, self.weights = op, program, weights
        self.inputs, self.trace = program.parent / "gpu-inputs.safetensors", program.parent / "trace.json"
        save_file(inputs, self.inputs)

    def median_ms(self, repeat: int) -> float:
        given = ["--weights", self.weights, "--inputs", self.inputs, "--repeat", repeat, "--json", "--profile", self.trace]
        run_json(THREADS, [self.program, "bench", *given])
        return statistics.median(kernel_ms(json.loads(self.trace.read_text()), self.op))

    def close(self) -> None:
        pass


class PeerOp:
    def __init__(self, name: str, inputs: Arrays, options: Options) -> None:
        folder = options.cache / "ops"
        folder.mkdir(parents=True, exist_ok=True)
        self.peer, self.inputs = Peer(name, folder, folder, THREADS, options.isa), inputs
        self.peer.prepare(inputs | {"times": np.int64(TIMES)})

    def median_ms(self, repeat: int) -> float:
        return self.peer.median_ms(repeat) / TIMES

    def close(self) -> None:
        self.peer.close()


def product(size: list[int], run: dict, options: Options) -> OurKernels:
    m, n, k = size
    return OurKernels("linear", *build("linear", 1, {"K": k, "N": n}, options, *run["options"]), row_ids(m))


def attention(shape: dict, run: dict, options: Options) -> OurKernels:
    op = "causal-attention" if shape["causal"] else "attention"
    sizes = {"heads": shape["heads"], "head_dim": shape["head_dim"], "K": shape["heads"] * shape["head_dim"]}
    inputs = make_inputs([shape["length"]] * shape["batch"], 64)
    del inputs["token_type_ids"]
    return OurKernels("attention", *build(op, 1, sizes, options, *run["options"]), inputs)


def measure_row(part: str, shape: str, makers: dict, flops: float, moved: float, options: Options) -> dict:
    gaps: dict[str, str] = {}
    with contestants_of(makers, f"{part}, {shape}", gaps) as contestants:
        rounds = rounds_of(contestants, lambda name, contestant: None, options, gaps)
    ms = {name: statistics.median(times) for name, times in rounds.items()}
    return {"part": part, "shape": shape, "ms": ms, "flops": flops, "bytes": moved, "gaps": gaps}


def measure_products(run: dict, options: Options) -> Iterator[dict]:
    for size in run["sizes"]:
        m, n, k = size
        given = {"M": np.int64(m), "N": np.int64(n), "K": np.int64(k), "dtype": np.str_(run["dtype"])}
        makers = {Ours.name: partial(product, size, run, options)}
        makers |= {name: partial(PeerOp, name, given, options) for name in run["peers"]}
        moved = 2.0 * (m * k + n * k + m * n)
        yield measure_row("product", f"{m} x {n} x {k}", makers, 2.0 * m * n * k, moved, options)


def measure_attention(run: dict, options: Options) -> Iterator[dict]:
    for shape in run["shapes"]:
        given = {name: np.int64(value) for name, value in shape.items()} | {"dtype": np.str_(run["dtype"])}
        makers = {Ours.name: partial(attention, shape, run, options)}
        makers |= {name: partial(PeerOp, name, given, options) for name in run["peers"]}
        heads, dim, length = shape["batch"] * shape["heads"], shape["head_dim"], shape["length"]
        flops = 4.0 * heads * length * length * dim / (2 if shape["causal"] else 1)
        name = f"{shape['batch']} x {length}, {shape['heads']} heads of {dim}{', causal' if shape['causal'] else ''}"
        yield measure_row("attention", name, makers, flops, 8.0 * heads * length * dim, options)


# --- models ------------------------------------------------------------------------------------------


def forward_contestant(name: str, run: dict, inputs: Arrays, outputs: dict, options: Options):
    folder, cache = checkpoint(run["model"], options.cache), model_cache(run["model"], options.cache)
    if name == Ours.name:
        program = cache / options.isa.file_name("program")
        compile_program(options.compiler, folder, program, options.isa, *run["options"])
        contestant = Ours(program, folder / "model.safetensors", THREADS, cache)
    else:
        contestant = Peer(name, folder, cache, THREADS, options.isa)
    _, outputs[name] = contestant.prepare(inputs)
    ours = outputs.get(Ours.name, outputs[name])
    difference = np.linalg.norm(outputs[name] - ours) / np.linalg.norm(ours)
    if not difference <= AGREEMENT:
        contestant.close()
        raise Failure(f"differs from us by {difference:.2g} of us")
    return contestant


def measure_forward(run: dict, options: Options) -> dict:
    encoder = Encoder.of(checkpoint(run["model"], options.cache))
    lengths, outputs = [run["length"]] * run["batch"], {}
    inputs = make_inputs(lengths, encoder.vocabulary)
    names = [Ours.name, *run["peers"]]
    makers = {name: partial(forward_contestant, name, run, inputs, outputs, options) for name in names}
    shape = f"{run['batch']} x {run['length']}"
    return measure_row(title(run), shape, makers, encoder.flops(lengths), encoder.weight_bytes() / 2, options)


def title(run: dict) -> str:
    return TITLES.get(run["model"], Path(run["model"]).name)


def weights_of(run: dict, options: Options) -> int:
    """Numbers in the checkpoint's weights, which are float32."""
    return (checkpoint(run["model"], options.cache) / "model.safetensors").stat().st_size // 4


def measure_text(run: dict, options: Options) -> list[dict]:
    """The prompt, then each token behind it, for which all weights are read."""
    generate = {"prompt": run["prompt"], "new_tokens": run["new_tokens"]}
    asked = {"model": run["model"], "generate": generate, "weights": run["weights"], "peers": run["peers"]}
    weights = weights_of(run, options)
    flops = {0: 2.0 * weights * run["prompt"], 1: 2.0 * weights}
    rows = measure_generation(asked, [THREADS], options)["rows"]
    return [
        {"part": title(run), "shape": row["shape"], "ms": row["ms"], "flops": flops[i], "bytes": 2.0 * weights, "gaps": row["gaps"]}
        for i, row in enumerate(rows)
    ]


def measure_steps(run: dict, options: Options) -> list[dict]:
    """A step's products: two of each weight's forward, four backward."""
    asked = {name: run[name] for name in ("model", "train", "peers")} | {"mixed_precision": run.get("mixed_precision")}
    weights = weights_of(run, options)
    return [
        {"part": f"training {title(run)}", "shape": row["shape"], "ms": row["median_ms"], "flops": 6.0 * weights * row["tokens"],
         "bytes": 0.0, "gaps": row["gaps"]}
        for row in measure_training(asked, [THREADS], options)
    ]  # fmt: skip


def measure_all(run: dict, options: Options) -> Iterator[dict]:
    """Row by row, each said when it is there."""
    def rows() -> Iterator[dict]:
        yield from measure_products(run["products"], options) if "products" in run else ()
        yield from measure_attention(run["attention"], options) if "attention" in run else ()
        yield from (measure_forward(one, options) for one in run.get("forward", []))
        for one in run.get("generate", []):
            yield from measure_text(one, options)
        for one in run.get("train", []):
            yield from measure_steps(one, options)

    for row in rows():
        note(f"{row['part']}, {row['shape']}: {row['ms']} {row['gaps'] or ''}")
        yield row


# --- the table ---------------------------------------------------------------------------------------


def ours_in(row: dict) -> float | None:
    return next((ms for name, ms in row["ms"].items() if name.startswith(Ours.name)), None)


def judge(row: dict, peaks: tuple[float, float] | None) -> dict:
    """Adds rates, shares of what the GPU could do, and how many times faster than the fastest peer we are."""
    ours = ours_in(row)
    peers = {name: ms for name, ms in row["ms"].items() if not name.startswith(Ours.name)}
    if not ours:
        return row
    row |= {"tflops": row["flops"] / ours * 1e-9, "gbs": row["bytes"] / ours * 1e-6}
    if peaks:
        limit = max(row["flops"] / peaks[0], row["bytes"] / peaks[1])
        row["share_of_peak"] = limit * 1e3 / ours
    if peers:
        row["fastest_peer"] = min(peers, key=peers.get)
        row["ratio"] = peers[row["fastest_peer"]] / ours
    return row


def markdown(results: dict) -> str:
    rows = results["rows"]
    lines = [f"# On {results['gpu']}, compiled for {results['arch']}", ""]
    lines += ["Milliseconds, medians of alternating rounds. Peak: data sheets' rate of bfloat16 products or bandwidth,", ""]
    lines[-2] += " whichever allows less; ratio: how many times faster than the fastest peer."
    header = ["", "ours", "fastest peer", "ratio", "TFLOP/s", "share of peak"]
    cells = []
    for row in rows:
        peer = row.get("fastest_peer")
        theirs = f"{number(row['ms'][peer])} ({peer.removeprefix('gpu.')})" if peer else "-"
        ratio = f"{row['ratio']:.2f}" if "ratio" in row else "-"
        rate = f"{row['tflops']:.3g}" if "tflops" in row else "-"
        cells.append([f"{row['part']}, {row['shape']}", number(ours_in(row)), theirs, ratio, rate, percent(row.get("share_of_peak"))])
    lines += [table(header, cells)]
    gaps = sorted({f"{row['part']}, {row['shape']}: {name}: {gap}" for row in rows for name, gap in row["gaps"].items()})
    lines += ["", "Without a figure:", "", *(f"- {gap}" for gap in gaps)] if gaps else []
    return "\n".join([*lines, "", f"{results['date']}, commit {results['commit']}, {results['rounds']} rounds."]) + "\n"
