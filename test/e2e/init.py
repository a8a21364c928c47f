#!/usr/bin/env python3
"""Training from a seed: what `train --init` starts from, saves and goes on from.

The initial values (saved after a step at a rate of zero) are distributed as the imported model says, which
test/golden/initializers.py compares with transformers.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import GOLDEN, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

sys.path.append(str(GOLDEN))
from initializers import read_parameters, statistics, why_not  # noqa: E402
from train import first_steps  # noqa: E402

CASES = ("gpt2-lm", "bert-masked-lm", "bart-lm", "t5-lm", "mistral-lm")
STEPS = 4


class Runs:
    """A case's program and what it saves."""

    def __init__(self, compiler: Path, case: Path, folder: Path):
        self.case, self.folder, self.program = case, folder, folder / "program"
        compile_program(compiler, case, self.program, "--mode", "train")
        save_file(first_steps(case, STEPS), folder / "data.safetensors")

    def train(self, name: str, *options: object) -> bytes:
        """The bytes of the weights in the folder `name`."""
        data = ("--data", self.folder / "data.safetensors", "--save", self.folder / name)
        done = execute([self.program, "train", *data, *options])
        if done.code != 0:
            raise RuntimeError(f"{name}: {done.complaint()}")
        return (self.folder / name / "model.safetensors").read_bytes()


def why_not_as_declared(importer: Path, runs: Runs) -> str | None:
    """Names and distributions of initial values."""
    runs.train("initial", "--init", 1, "--steps", 1, "--learning-rate", 0)
    found = load_file(runs.folder / "initial" / "model.safetensors")
    parameters = read_parameters(execute([importer, runs.case]).stdout)
    if set(found) != {parameter.names[0] for parameter in parameters}:
        return f"other tensors than parameters: {sorted(found)}"
    for parameter in parameters:
        if reason := why_not(parameter, statistics([found[parameter.names[0]]])):
            return f"{parameter.names[0]}: {reason}"
    return None


def why_not_repeatable(runs: Runs) -> str | None:
    weights = runs.train("one", "--init", 1, "--threads", 1)
    if runs.train("two", "--init", 1, "--threads", 2) != weights:
        return "two threads give other bits than one"
    if runs.train("other", "--init", 2) == weights:
        return "another seed gives the same bits"
    runs.train("half", "--init", 1, "--steps", STEPS // 2)
    half = runs.folder / "half"
    if runs.train("from seed", "--init", 1, "--resume", half) != weights:
        return "--init and --resume give other bits than an unbroken run"
    runs.train("from files", "--weights", half, "--resume", half)
    whole, resumed = (load_file(runs.folder / name / "model.safetensors") for name in ("one", "from files"))
    if set(whole) != set(resumed) or any((whole[name] != resumed[name]).any() for name in whole):
        return "the saved weights with --resume give other bits than an unbroken run"
    return None


def why_not_complete(runs: Runs) -> str | None:
    """With --definition the saved folder has all that a checkpoint has."""
    runs.train("alone", "--init", 1, "--steps", 1)
    if (runs.folder / "alone" / "config.json").exists():
        return "a config.json from nowhere"
    runs.train("complete", "--init", 1, "--steps", 1, "--definition", runs.case)
    saved = runs.folder / "complete" / "config.json"
    return None if saved.read_bytes() == (runs.case / "config.json").read_bytes() else "another config.json"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile, transformer-import beside it")
    parser.add_argument("cases", nargs="*", default=CASES, help="golden cases")
    options = parser.parse_args()
    compiler = options.compile.resolve()
    report = Report()
    for case in options.cases:
        with tempfile.TemporaryDirectory() as scratch:
            runs = Runs(compiler, GOLDEN / case, Path(scratch))
            report.add(f"init/{case}: values", why_not_as_declared(compiler.parent / "transformer-import", runs))
            report.add(f"init/{case}: bits", why_not_repeatable(runs))
            report.add(f"init/{case}: definition", why_not_complete(runs))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
