#!/usr/bin/env python3
"""Commands of programs for a GPU beside the same program for the CPU, here on the emulated driver: vectors and classes
of texts, profiles, and that calls are launched as graphs, with the bits of single launches."""

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, TARGET, Outcome, Report, compile_program, execute
from safetensors.numpy import load_file, save_file
from train_text import make_tokenizer

TEXTS = ("w1 w2 w3", "w7", "w3 w5 w2 w11 w4")
BOUND = 1e-5  # of a value between 0 and 1, of two orders of float32 sums
GRAPHS = re.compile(r"emulated CUDA: (\d+) launches of graphs")
ALONE = {"CUDA_LAUNCH_BLOCKING": "1"}


class Commands:
    """Programs of a golden case with a tokenizer: for the target that is tested, and when asked for, for the CPU."""

    def __init__(self, compiler: Path, case: str, folder: Path, *options: str):
        self.compiler, self.checkpoint, self.folder = compiler, folder / case, folder
        shutil.copytree(GOLDEN / case, self.checkpoint)
        vocabulary = json.loads((self.checkpoint / "config.json").read_text())["vocab_size"]
        make_tokenizer(vocabulary, self.checkpoint / "tokenizer.json")
        self.program = folder / f"{case}-gpu"
        compile_program(compiler, self.checkpoint, self.program, *options)
        self.texts = folder / "texts.txt"
        self.texts.write_text("\n".join(TEXTS) + "\n")

    def on_cpu(self) -> Path:
        program = self.folder / f"{self.checkpoint.name}-cpu"
        done = execute([self.compiler, self.checkpoint, "-o", program], seconds=300)
        if done.code != 0:
            raise RuntimeError(f"cannot compile {self.checkpoint.name} for the CPU: {done.complaint()}")
        return program

    def call(self, program: Path, name: str, *options: object, **environment: str) -> Outcome:
        done = execute([program, name, "-w", self.checkpoint, *options], env={**os.environ, **environment})
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {done.complaint()}")
        return done

    def vectors(self, program: Path) -> np.ndarray:
        output = self.folder / f"{program.name}.npy"
        self.call(program, "embed", "--file", self.texts, "--outputs", output)
        return np.load(output)

    def classes(self, program: Path) -> list[list[dict]]:
        lines = self.call(program, "classify", "--file", self.texts).stdout.splitlines()
        return [json.loads(line) for line in lines]


def why_not_embedded(commands: Commands) -> str | None:
    found, expected = commands.vectors(commands.program), commands.vectors(commands.on_cpu())
    if found.shape != expected.shape or len(found) != len(TEXTS):
        return f"shape {found.shape}, expected {expected.shape}"
    error = np.abs(found - expected).max()
    return None if error <= BOUND else f"differ by {error}"


def numbers_in(value: object) -> list[float]:
    if isinstance(value, dict):
        return [number for item in value.values() for number in numbers_in(item)]
    if isinstance(value, list):
        return [number for item in value for number in numbers_in(item)]
    return [value] if isinstance(value, float) else []


def without_numbers(value: object) -> object:
    if isinstance(value, dict):
        return {key: without_numbers(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_numbers(item) for item in value]
    return None if isinstance(value, float) else value


def why_not_classified(commands: Commands) -> str | None:
    found, expected = commands.classes(commands.program), commands.classes(commands.on_cpu())
    if len(found) != len(TEXTS) or without_numbers(found) != without_numbers(expected):
        return f"{found}, expected {expected}"
    pairs = list(zip(numbers_in(found), numbers_in(expected), strict=True))
    error = max(abs(a - b) for a, b in pairs)
    return None if pairs and error <= BOUND else f"scores differ by {error}"


def why_not_profiled(commands: Commands) -> str | None:
    """Each kernel's time lies inside of what launched it, the call or, of weights that are prepared, their loading; the
    table has a row for it."""
    trace = commands.folder / "trace.json"
    outputs = ("-o", commands.folder / "out.safetensors", "--profile", trace)
    done = commands.call(commands.program, "run", "-i", commands.checkpoint / "inputs.safetensors", *outputs)
    events = json.loads(trace.read_text())["traceEvents"]
    devices = [event["tid"] for event in events if event["ph"] == "M" and event["args"]["name"] == "GPU"]
    if len(devices) != 1:
        return f"{len(devices)} threads of the name GPU"
    kernels = [event for event in events if event["ph"] == "X" and event["tid"] == devices[0]]
    outer = {event["name"]: event for event in events if event["ph"] == "X" and event["name"] in ("call", "load weights")}

    def count(name: str) -> int:
        begin, end = outer[name]["ts"], outer[name]["ts"] + outer[name]["dur"]
        return sum(begin <= kernel["ts"] and kernel["ts"] + kernel["dur"] <= end + 0.001 for kernel in kernels)

    if count("call") == 0 or count("call") + count("load weights") != len(kernels):
        return f"of {len(kernels)} kernels {count('call')} lie inside of the call, {count('load weights')} of the loading"
    if not all(kernel["args"]["blocks"] > 0 and kernel["dur"] > 0 for kernel in kernels):
        return "a kernel without blocks or time"
    starts = [kernel["ts"] for kernel in kernels]
    if starts != sorted(starts):
        return "kernels are not in the order of their launches"
    missing = {kernel["name"] for kernel in kernels if kernel["name"] not in done.stderr}
    return f"the table has no {sorted(missing)[0]}" if missing else None


def graphs_of(done: Outcome) -> int:
    found = GRAPHS.search(done.stderr)
    return int(found[1]) if found else 0


def why_not_decoded_by_graphs(commands: Commands) -> str | None:
    prompts = commands.folder / "prompts.safetensors"
    save_file({"input_ids": np.array([[3, 5, 7]])}, prompts)
    results, graphs = [], []
    for environment in ({}, ALONE):
        output = commands.folder / "sequences.safetensors"
        options = ("-i", prompts, "-o", output, "--max-new-tokens", 8, "--min-new-tokens", 8)
        done = commands.call(commands.program, "generate", *options, EMULATED_STATISTICS="1", **environment)
        graphs.append(graphs_of(done))
        results.append(load_file(output)["sequences"])
    if not np.array_equal(*results):
        return f"sequences {results[0]}, with single launches {results[1]}"
    return None if graphs[0] >= 4 and graphs[1] == 0 else f"{graphs[0]} launches of graphs, {graphs[1]} of single launches"


def why_not_trained_by_graphs(commands: Commands) -> str | None:
    """Other batches each step: what changes is written into the nodes."""
    data, weights, graphs = commands.folder / "steps.safetensors", [], []
    ids = np.random.default_rng(1).integers(3, 29, (7, 4, 8))
    mask = np.arange(8) < np.array([[8, 8, 8, 8 - step] for step in range(7)])[..., None]  # more than few rows
    save_file({"input_ids": ids, "attention_mask": mask.astype(ids.dtype), "labels": np.where(mask, ids, -100)}, data)
    for i, environment in enumerate(({}, ALONE)):
        saved = commands.folder / f"saved-{i}"
        done = commands.call(commands.program, "train", "--data", data, "--save", saved, EMULATED_STATISTICS="1", **environment)
        graphs.append(graphs_of(done))
        weights.append((saved / "model.safetensors").read_bytes())
    if weights[0] != weights[1]:
        return "other weights than those of single launches"
    return None if graphs[0] >= 4 and graphs[1] == 0 else f"{graphs[0]} launches of graphs, {graphs[1]} of single launches"


def check(compiler: Path, report: Report, emulated: bool, mixed: bool) -> None:
    checks = [
        ("embed", "bert-model", why_not_embedded, ()),
        ("classify", "bert-sequence-classification", why_not_classified, ()),
        ("--profile", "bert-model", why_not_profiled, ()),
    ]
    if emulated:  # who counts graphs
        checks.append(("graphs of decoding", "gpt2-lm", why_not_decoded_by_graphs, ()))
        checks.append(("graphs of training", "gpt2-lm", why_not_trained_by_graphs, ("--mode", "train")))
    if mixed:
        options = ("--mode", "train", "--mixed-precision", "bf16")
        checks = [("graphs of mixed training", "llama-lm", why_not_trained_by_graphs, options)]
    for name, case, why_not, options in checks:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                reason = why_not(Commands(compiler, case, Path(scratch), *options))
            except RuntimeError as error:
                reason = str(error)
        report.add(f"cuda/{name}", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--on-gpu", action="store_true", help="the driver is NVIDIA's")
    parser.add_argument("--mixed", action="store_true", help="only steps in mixed precision, as graphs")
    options = parser.parse_args()
    if "cuda" not in TARGET:
        parser.error('TRANSFORMER_TEST_TARGET must be "--target cuda --arch ..."')
    report = Report()
    check(options.compile.resolve(), report, not options.on_gpu, options.mixed)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
