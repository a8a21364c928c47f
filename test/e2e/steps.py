#!/usr/bin/env python3
"""The entry point `step` of decoder families: prompts at once, in parts, token by token, alone and in
a batch give the same bits, and what `forward` gives for the whole sequence."""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

PAGE = 64  # positions; models/Cache.cpp
LENGTHS = (150, 1, 70, 64)


@dataclass
class Session:
    """A program's cache from call to call, and which of its pages each sequence has."""

    program: Path
    weights: Path
    folder: Path
    tables: np.ndarray
    lengths: np.ndarray = field(init=False)
    started: bool = False

    def __post_init__(self) -> None:
        self.lengths = np.zeros(len(self.tables), np.int64)

    def step(self, rows: list[int], new: list[np.ndarray]) -> np.ndarray:
        """Logits `[rows, vocabulary]` behind new tokens of some of the sequences."""
        counts = np.array([len(ids) for ids in new])
        grid, columns = np.zeros((len(rows), counts.max()), np.int64), np.arange(counts.max())
        for to, ids in zip(grid, new):
            to[: len(ids)] = ids
        positions = self.lengths[rows, None] + columns
        self.lengths[rows] += counts
        inputs = {
            "input_ids": grid,
            "attention_mask": (columns < counts[:, None]).astype(np.int64),
            "page_table": self.tables[rows],
            "key_lengths": self.lengths[rows],
        }
        if self.takes_positions:
            inputs["position_ids"] = positions
        names = [self.folder / name for name in ("in.safetensors", "out.safetensors", "state.safetensors")]
        save_file(inputs, names[0])
        start = ["--state-in", names[2]] if self.started else ["--size", f"pages={self.tables.max() + 1}"]
        command = [self.program, "run", "--entry", "step", "-w", self.weights, "-i", names[0], "-o", names[1], "--state-out", names[2]]
        done = execute([*command, *start])
        if done.code != 0:
            raise RuntimeError(f"step: exit code {done.code}: {done.complaint()}")
        self.started = True
        return load_file(names[1])["logits"]

    takes_positions: bool = True


def forward(program: Path, weights: Path, folder: Path, ids: np.ndarray) -> np.ndarray:
    save_file({"input_ids": ids[None]}, folder / "in.safetensors")
    done = execute([program, "run", "-w", weights, "-i", folder / "in.safetensors", "-o", folder / "out.safetensors"])
    if done.code != 0:
        raise RuntimeError(f"forward: exit code {done.code}: {done.complaint()}")
    return load_file(folder / "out.safetensors")["logits"][0]


def problem(case: Path, program: Path, folder: Path) -> str | None:
    config = json.loads((case / "config.json").read_text())
    random = np.random.default_rng(7)
    limit = config.get("max_position_embeddings") or config.get("n_positions") or 10**6
    limited = config["model_type"] in ("gpt2", "openai-gpt", "gptj", "opt")
    lengths = [min(n, limit) if limited else n for n in LENGTHS]
    prompts = [random.integers(0, config["vocab_size"], n) for n in lengths]
    pages = -(-max(lengths) // PAGE)
    tables = random.permutation(len(prompts) * pages).reshape(len(prompts), pages).astype(np.int64)
    everyone = list(range(len(prompts)))

    def session() -> Session:
        return Session(program, case, folder, tables, takes_positions=config["model_type"] != "bloom")

    whole = session().step(everyone, prompts)
    for b in everyone:
        want = forward(program, case, folder, prompts[b])[-1]
        error, size = np.abs(whole[b] - want).max(), np.abs(want).max()
        if error > 2e-5 * size:
            return f"sequence {b}: step differs from forward by {error:.2e}, largest logit {size:.2e}"
    # Token by token behind a first part, in a batch that gets smaller.
    one = session()
    first = [max(1, n - 3) for n in lengths]
    logits = dict(zip(everyone, one.step(everyone, [p[:n] for p, n in zip(prompts, first)])))
    while left := [b for b in everyone if one.lengths[b] < lengths[b]]:
        logits |= dict(zip(left, one.step(left, [prompts[b][one.lengths[b]][None] for b in left])))
    for b in everyone:
        if not np.array_equal(logits[b], whole[b]):
            return f"sequence {b}: token by token differs by {np.abs(logits[b] - whole[b]).max():.2e}"
    # In parts, alone, others in between.
    parts = session()
    for size in (13, 51, 1, 64, 30):
        for b in reversed(everyone):
            part = prompts[b][parts.lengths[b] : parts.lengths[b] + size]
            if len(part):
                logits[b] = parts.step([b], [part])[0]
    for b in everyone:
        if not np.array_equal(logits[b], whole[b]):
            return f"sequence {b}: in parts differs by {np.abs(logits[b] - whole[b]).max():.2e}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--arch", help="compile for another CPU, run here")
    parser.add_argument("--weights-dtype", default="f32", help="what programs are compiled with")
    parser.add_argument("cases", nargs="+", help="golden cases")
    options = parser.parse_args()
    report = Report()
    for name in options.cases:
        with tempfile.TemporaryDirectory() as scratch:
            program = Path(scratch) / "program"
            try:
                arch = ["--arch", options.arch] if options.arch else []
                compile_program(
                    options.compile, GOLDEN / name, program, *arch, "--weights-dtype", options.weights_dtype
                )
                reason = problem(GOLDEN / name, program, Path(scratch))
            except RuntimeError as error:
                reason = str(error)
            report.add(f"steps/{name}", reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
