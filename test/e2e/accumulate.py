#!/usr/bin/env python3
"""Steps in parts of their rows, one behind the other (`--accumulate`) or in processes (`mpirun`): the same losses, norms
and weights as whole steps, however the labels that count are spread over the rows, to rounding."""

import argparse
import json
import os
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Outcome, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

sys.path.append(str(GOLDEN))
from gradients import given_to  # noqa: E402

# One for each kind of loss, and an encoder-decoder.
CASES = (
    "gpt2-lm",
    "bert-pretraining",
    "bert-question-answering",
    "bert-sequence-classification",
    "electra-pretraining",
    "bart-lm",
    "transformer-tied",
)
STEPS = 3
BOUND = 2e-6  # of a value, of float32 sums
# As many processes as there are cores, or more; a container's user is root.
MPIRUN = ("mpirun", "--oversubscribe", "--bind-to", "none", "-n")
MPI_ENVIRONMENT = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}


class Runs:
    """A case's program and data."""

    def __init__(self, compiler: Path, case: Path, folder: Path, dropout: float = 0):
        self.case, self.folder, self.program = case, folder, folder / "program"
        # SGD's weights are as far apart as gradients are; AdamW divides small ones by themselves.
        options = ("--mode", "train", "--accumulate", "--dropout", str(dropout), "--optimizer", "sgd")
        compile_program(compiler, case, self.program, *options)
        inputs, labels = given_to(case)
        given = inputs | labels
        self.rows = len(next(iter(given.values())))
        steps = {name: np.stack([np.roll(value, i, axis=0) for i in range(STEPS)]) for name, value in given.items()}
        save_file({name: np.ascontiguousarray(value) for name, value in steps.items()}, folder / "data.safetensors")

    def execute(self, command: list[object]) -> Outcome:
        return execute(command, env=MPI_ENVIRONMENT)

    def train(self, name: str, *options: object, processes: int = 1) -> tuple[list[dict], dict[str, np.ndarray]]:
        """Log and weights."""
        saved, log = self.folder / name, self.folder / f"{name}.jsonl"
        data = ("-w", self.case, "--data", self.folder / "data.safetensors", "--learning-rate", 0.1)
        command = [self.program, "train", *data, "--save", saved, "--log", log, *options]
        together = [*MPIRUN, processes] if processes > 1 else []
        done = self.execute([*together, *command])
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {done.complaint()}")
        return [json.loads(line) for line in log.read_text().splitlines()], load_file(saved / "model.safetensors")


def difference(found: tuple, expected: tuple, bound: float) -> str | None:
    """Of a log and weights from others."""
    for mine, theirs in zip(found[0], expected[0], strict=True):
        for key in ("loss", "grad_norm"):
            if not abs(mine[key] - theirs[key]) <= bound * abs(theirs[key]):
                return f"step {theirs['step']}: {key} {mine[key]}, expected {theirs[key]}"
    for name, weight in expected[1].items():
        error = np.abs(found[1][name] - weight).max()
        if not error <= bound * np.abs(weight).max():
            return f"{name}: differs by {error}"
    return None


def why_not(runs: Runs) -> str | None:
    whole = runs.train("whole")
    for parts in (2, runs.rows + 1):  # also with one that has no row
        if reason := difference(runs.train(f"{parts} parts", "--accumulate", parts), whole, BOUND):
            return f"{parts} parts: {reason}"
    return None


def why_not_together(runs: Runs) -> str | None:
    """Sums in the order of ranks have the bits of those in the order of parts."""
    parts, together = runs.train("parts", "--accumulate", 2), runs.train("together", processes=2)
    if reason := difference(together, parts, 0):
        return f"2 processes: {reason}"
    both = runs.train("both", "--accumulate", 2, processes=2)
    if reason := difference(both, parts, BOUND):
        return f"2 parts in each of 2 processes: {reason}"
    evaluation = ("--eval-data", runs.folder / "data.safetensors")
    alone, shared = runs.train("alone", *evaluation, "--accumulate", 2), runs.train("shared", *evaluation, processes=2)
    return None if alone[0] == shared[0] else f"evaluation: {shared[0][-1]}, expected {alone[0][-1]}"


def why_not_dropped(runs: Runs) -> str | None:
    """Each part drops its own, a function of seed, step and part alone."""
    parts = runs.train("parts", "--accumulate", 2, "--threads", 1)
    for name, other in (("2 threads", runs.train("threads", "--accumulate", 2, "--threads", 2)), ("2 processes", runs.train("together", processes=2))):
        if reason := difference(other, parts, 0):
            return f"{name}: {reason}"
    whole = runs.train("whole")
    return None if difference(whole, parts, BOUND) else "parts drop what the whole does"


def why_not_refused(runs: Runs) -> str | None:
    """A process that fails ends the others."""
    command = [*MPIRUN, 2, runs.program, "train", "-w", runs.case, "--data", "no.safetensors"]
    done = execute(command, env=MPI_ENVIRONMENT)
    if done.code != 1:
        return f"exit code {done.code}"
    return None if "no.safetensors" in done.stderr else done.stderr[:300]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="*", default=CASES, help="golden cases")
    options = parser.parse_args()
    compiler, report = options.compile.resolve(), Report()
    for case in options.cases:
        with tempfile.TemporaryDirectory() as scratch:
            runs = Runs(compiler, GOLDEN / case, Path(scratch))
            report.add(f"accumulate/{case}: parts", why_not(runs))
            if case == CASES[0]:
                report.add("accumulate: mpirun found", None if shutil.which("mpirun") else "install openmpi-bin")
                report.add(f"accumulate/{case}: processes", why_not_together(runs))
                report.add("accumulate: a process fails", why_not_refused(runs))
                (runs.folder / "dropout").mkdir()
                dropping = Runs(compiler, GOLDEN / case, runs.folder / "dropout", dropout=0.2)
                report.add(f"accumulate/{case}: dropout", why_not_dropped(dropping))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
