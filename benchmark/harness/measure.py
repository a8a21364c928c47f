"""Rounds of all contestants in turn, and what comes of them."""

from __future__ import annotations

import json
import statistics
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from harness.checkpoints import Encoder, checkpoint, model_cache
from harness.isa import Isa
from harness.machine import Machine
from harness.processes import Failure, Ours, Peer, compile_program
from harness.shapes import lengths_of, make_inputs, parse_shape

# The largest difference of an output element between a peer and us.
AGREEMENT = {"float32": 1e-3, "bfloat16": 0.25}


BFLOAT16 = ("--weights-dtype", "bf16", "--activations-dtype", "bf16")


@dataclass
class Options:
    cache: Path
    compiler: Path
    rounds: int
    seconds: float  # of one contestant's round, at least one run
    repeat: int | None  # runs a round, instead of `seconds`
    isa: Isa


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def rounds_of(contestants: dict, prepare: Callable, options: Options, gaps: dict[str, str]) -> dict[str, list[float]]:
    """The median of each round of each, who are prepared and then take turns; a failure becomes a gap."""
    rounds: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(options.rounds + 1):
        for name, contestant in contestants.items():
            try:
                if name in gaps:
                    continue
                if turn == 0:
                    prepare(name, contestant)
                else:
                    rounds[name].append(contestant.median_ms(runs_of(options)))
            except Failure as failure:
                gaps[name] = str(failure)
    return {name: ms for name, ms in rounds.items() if name not in gaps}


def repeats(options: Options, seconds: float) -> int:
    return options.repeat or max(1, min(200, round(options.seconds / max(seconds, 1e-4))))


def runs_of(options: Options) -> int:
    """Runs a round of what takes long."""
    return options.repeat or 3


@contextmanager
def contestants_of(makers: dict[str, Callable], title: str, gaps: dict[str, str]) -> Iterator[dict]:
    """What each maker makes, closed at the end; a failure becomes a gap."""
    found = {}
    try:
        for name, make in makers.items():
            note(f"{title}: starting {name}")
            try:
                found[name] = make()
            except Failure as failure:
                gaps[name] = str(failure)
                note(f"  left out: {failure}")
        yield found
    finally:
        for contestant in found.values():
            contestant.close()


def dtype_of(run: dict) -> str:
    return run.get("dtype", "float32")


def start(name: str, run: dict, threads: int, options: Options):
    cache = model_cache(run["model"], options.cache)
    folder = checkpoint(run["model"], options.cache)
    if name != Ours.name:
        return Peer(name, folder, cache, threads, options.isa, dtype_of(run))
    program = cache / options.isa.file_name("program")
    rounded = dtype_of(run) == "bfloat16"
    compile_program(options.compiler, folder, program, options.isa, *(BFLOAT16 if rounded else ()))
    return Ours(program, folder / "model.safetensors", threads, cache)


def prepare(contestants: dict, inputs: dict, gaps: dict) -> tuple[dict, dict]:
    """Seconds of one run and result of each; a failure becomes a gap."""
    seconds, outputs = {}, {}
    for name, contestant in contestants.items():
        try:
            seconds[name], outputs[name] = contestant.prepare(inputs)
        except Failure as failure:
            gaps[name] = str(failure)
    return seconds, outputs


def differences(outputs: dict, mask: np.ndarray, dtype: str, gaps: dict) -> dict[str, float]:
    """Largest difference of each peer from us, on real tokens."""
    if Ours.name not in outputs:
        return {}
    ours, found = outputs[Ours.name], {}
    for name, output in outputs.items():
        if name == Ours.name:
            continue
        found[name] = float(np.abs(output - ours)[mask != 0].max()) if output.shape == ours.shape else float("inf")
        if not found[name] < AGREEMENT[dtype]:
            gaps[name] = f"differs from us by {found[name]:.2g}"
    return found


def measure_shape(contestants: dict, inputs: dict, dtype: str, options: Options) -> dict:
    gaps: dict[str, str] = {}
    seconds, outputs = prepare(contestants, inputs, gaps)
    difference = differences(outputs, inputs["attention_mask"], dtype, gaps)
    rounds: dict[str, list[float]] = {name: [] for name in seconds if name not in gaps}
    for _ in range(options.rounds):
        for name in list(rounds):
            try:
                rounds[name].append(contestants[name].median_ms(repeats(options, seconds[name])))
            except Failure as failure:
                gaps[name] = str(failure)
                del rounds[name]
    median = {name: statistics.median(times) for name, times in rounds.items()}
    return {"median_ms": median, "rounds_ms": rounds, "difference": difference, "gaps": gaps}


def add_ratio(row: dict) -> None:
    """How many times faster than the fastest peer we are."""
    ours = row["median_ms"].get(Ours.name)
    peers = {name: time for name, time in row["median_ms"].items() if name != Ours.name}
    if ours and peers:
        row["fastest_peer"] = min(peers, key=peers.get)
        row["ratio"] = peers[row["fastest_peer"]] / ours


def summarize(row: dict, encoder: Encoder, lengths: list[int], limits) -> None:
    """Adds our ratio to the fastest peer and, in float32, the share of the machine's limit."""
    add_ratio(row)
    if row["dtype"] != "float32":  # whose rate of products is not measured
        return
    ours = row["median_ms"].get(Ours.name)
    flops = encoder.flops(lengths)
    row["limit_ms"] = limits.seconds(flops, encoder.weight_bytes()) * 1e3
    row["gflop"] = flops * 1e-9
    if ours:
        row["share_of_limit"] = row["limit_ms"] / ours
        row["gflops"] = flops / (ours * 1e6)
        row["share_of_fma_peak"] = row["gflops"] / limits.fma_gflops


def measure_group(run: dict, threads: int, shapes: list[str], machine: Machine, options: Options) -> list[dict]:
    """All shapes of a model with one number of threads; the processes live through all of them."""
    title, gaps, rows = f"{run['model']}, {threads} threads", {}, []
    encoder = Encoder.of(checkpoint(run["model"], options.cache))
    makers = {name: partial(start, name, run, threads, options) for name in [Ours.name, *run["peers"]]}
    with contestants_of(makers, title, gaps) as contestants:
        for shape in shapes:
            lengths = lengths_of(run["shapes"].get(shape) or parse_shape(shape))
            disturbed = machine.measure(threads, options.isa).is_disturbed()
            row = {"model": run["model"], "dtype": dtype_of(run), "isa": options.isa.name}
            row |= {"threads": threads, "shape": shape}
            row["tokens"] = sum(lengths)
            row |= measure_shape(contestants, make_inputs(lengths, encoder.vocabulary), dtype_of(run), options)
            row["gaps"] = gaps | row["gaps"]
            limits = machine.measure(threads, options.isa)
            row["disturbed"] = disturbed or limits.is_disturbed()
            summarize(row, encoder, lengths, limits)
            rows.append(row)
            note(f"{title}, {shape}: " + json.dumps({k: round(v, 2) for k, v in row["median_ms"].items()}))
            for name, gap in row["gaps"].items():
                note(f"  gap: {name}: {gap}")
            if row["disturbed"]:
                note("  warning: the machine's peak was lower than before: something else runs")
    for row, shape in zip(rows, shapes):  # the limits may have been measured better since
        lengths = lengths_of(run["shapes"].get(shape) or parse_shape(shape))
        summarize(row, encoder, lengths, machine.limits[threads, options.isa.name])
    return rows
