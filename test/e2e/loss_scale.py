#!/usr/bin/env python3
"""Steps in float16 on a GPU (here an emulated one): gradients that are too large for it, of a loss scale as large as
nothing asks for, leave weights, moments and the optimizer's count of steps as they were, and halve the scale until they
fit; a run that goes on behind a skipped step, and one in parts, does as if it had never stopped.
TRANSFORMER_TEST_TARGET says what for."""

import json
import shutil
import sys
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute, run_on_gpu
from safetensors.numpy import load_file, save_file

CASE = GOLDEN / "llama-lm"
INITIAL, LARGE = 2.0**16, 2.0**30
STEPS = 10
NUMBERS = ("step", "loss_scale", "good_steps", "skipped_steps")


class Runs:
    def __init__(self, compiler: Path, folder: Path):
        self.folder, self.program, self.data = folder, folder / "program", folder / "data.safetensors"
        options = ("--mode", "train", "--mixed-precision", "f16", "--dropout", "0", "--accumulate")
        compile_program(compiler, CASE, self.program, *options)
        ids = np.random.default_rng(5).integers(0, 29, (1, 2, 6)).repeat(STEPS, axis=0)  # all steps are alike
        save_file({"input_ids": ids, "labels": ids}, self.data)

    def train(self, name: str, steps: int, before: Path | None = None, *options: str) -> tuple[Path, list[dict]]:
        saved, log = self.folder / name, self.folder / f"{name}.jsonl"
        files = ["-w", CASE, "--data", self.data, "--save", saved, "--log", log]
        resume = ["--resume", before] if before else []
        done = execute([self.program, "train", *files, "--steps", str(steps), "--learning-rate", "1e-3", *resume, *options])
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {done.complaint()}")
        return saved, [json.loads(line) for line in log.read_text().splitlines()]

    def changed(self, before: Path, name: str, **numbers: float) -> Path:
        """A copy, with other numbers beside the moments."""
        after = self.folder / name
        shutil.copytree(before, after)
        state = load_file(after / "training.safetensors")
        save_file(state | {key: np.array(value, state[key].dtype) for key, value in numbers.items()}, after / "training.safetensors")
        return after


def numbers(folder: Path) -> dict[str, float]:
    state = load_file(folder / "training.safetensors")
    return {name: state[name].item() for name in NUMBERS}


def differing(a: Path, b: Path, but: tuple[str, ...] = ()) -> str | None:
    for file in ("model.safetensors", "training.safetensors"):
        one, other = load_file(a / file), load_file(b / file)
        for name in one.keys() | other.keys():
            if name not in but and one[name].tobytes() != other[name].tobytes():
                return f"{file}: {name}"
    return None


def check(compiler: Path, folder: Path, report: Report) -> None:
    runs = Runs(compiler, folder)

    def say(what: str, holds: object, found: object) -> None:
        report.add(f"loss scale: {what}", None if holds else f"found {found}")

    start, lines = runs.train("start", 2)
    say("begins at 2^16", [line["loss_scale"] for line in lines] == [INITIAL] * 2 and numbers(start) == dict(zip(NUMBERS, (2, INITIAL, 2, 0))), numbers(start))
    large = runs.changed(start, "large", loss_scale=LARGE)
    for name, options in (("a step", ()), ("a step in parts", ("--accumulate", "2"))):
        skipped, lines = runs.train(f"skipped {name}", 3, large, *options)
        line = lines[-1]
        say(f"{name} that overflows has no norm", (line["grad_norm"], line["loss_scale"]) == (None, LARGE) and line["loss"] > 0, line)
        say(f"{name} that overflows halves it", numbers(skipped) == dict(zip(NUMBERS, (3, LARGE / 2, 0, 1))), numbers(skipped))
        report.add(f"loss scale: {name} that overflows changes nothing", differing(large, skipped, NUMBERS))
    # The next step is the third that the optimizer makes: its corrections are those of a run that skipped none.
    third, _ = runs.train("third", 3, start)
    behind, _ = runs.train("behind", 4, runs.changed(start, "one skipped", step=3, skipped_steps=1))
    report.add("loss scale: the optimizer counts no skipped step", differing(third, behind, NUMBERS))
    whole, lines = runs.train("whole", STEPS, runs.changed(start, "larger", loss_scale=2 * INITIAL))
    part, _ = runs.train("part", 6, runs.folder / "larger")
    rest, _ = runs.train("rest", STEPS, part)
    report.add("loss scale: a run that goes on", differing(whole, rest))
    fits, lines = runs.train("fits", STEPS, runs.changed(start, "too large", loss_scale=LARGE / 2**8))
    scales = [line["loss_scale"] for line in lines if line["step"] > 2]
    norms = [line["grad_norm"] for line in lines if line["step"] > 2]
    expected = [LARGE / 2 ** (8 + min(i, norms.count(None))) for i in range(len(norms))]
    say("is halved until it fits", norms[0] is None and norms[-1] is not None and scales == expected, (scales, norms))


if __name__ == "__main__":
    sys.exit(run_on_gpu(__doc__, "loss scale", check))
