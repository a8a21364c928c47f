#!/usr/bin/env python3
"""The first step of compiled training programs beside what gradients.py has recorded: the loss, and the norm of all
gradients. Of heads whose training train.py does not follow for longer."""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from gradients import given_to, run_cases
from safetensors.numpy import load_file, save_file
from train import Runs

CASES = ("bert-question-answering", "bert-pretraining", "albert-pretraining", "electra-pretraining", "bert-pytorch-pretraining")
BOUND = 1e-5  # of a value; they are sums of float32


def check(compiler: Path, case: Path) -> str:
    recorded = load_file(case / "gradients.safetensors")
    loss = recorded.pop("loss").item()
    norm = np.sqrt(sum(np.square(gradient, dtype=np.float64).sum() for gradient in recorded.values()))
    inputs, labels = given_to(case)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, "adamw", Path(scratch))
        save_file({name: value[None] for name, value in (inputs | labels).items()}, runs.folder / "data.safetensors")
        (line,), _ = runs.train(runs.compile("--dropout", "0"), "first", "--steps", 1)
    for name, found, expected in (("loss", line["loss"], loss), ("grad_norm", line["grad_norm"], norm)):
        if not abs(found - expected) <= BOUND * expected:
            raise RuntimeError(f"{name}: {found}, expected {expected:.9g}")
    return f"loss {loss:.6f}, norm {norm:.6f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="*", default=CASES, help="golden cases")
    options = parser.parse_args()
    compiler = options.compile.resolve()
    return run_cases("first step", options.cases, lambda case: check(compiler, case))


if __name__ == "__main__":
    sys.exit(main())
