#!/usr/bin/env python3
"""The first step of compiled training programs beside what gradients.py has recorded: the loss, the norm of all
gradients, and each gradient, which is what a step of SGD takes from its parameter. Of families and heads whose training
train.py does not follow for longer. Where this CPU, or the GPU, multiplies bfloat16, some with --mixed-precision as well: what it
computes exactly gradients/check_ops.py asks; here that it is the same step, but for the rounding. Some with each row
many times, which changes no mean: so many tokens that scores are made in chunks."""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gradients import HERE, given_to, run_cases
from safetensors.numpy import load_file, save_file
from train import TARGET, Runs

sys.path.insert(0, str(HERE.parent))
import quantize  # noqa: E402

REPEATED = ("deberta-masked-lm", "llama-lm", "marian-lm")  # a head with a bias, of its own, and with a frozen bias
TOKENS = 1800  # with padding: more than three chunks of rows
MIXED = ("albert-pretraining", "deberta-masked-lm", "llama-lm", "marian-lm", "vit-grey", "whisper-lm")


@dataclass
class Precision:
    """`bound`: of a value, a sum of products; `unit`: of a weight and of the norm: rounding of the weight, and of sums
    that cancel, as of a key's bias."""
    options: tuple[str, ...]
    bound: float
    unit: float


FLOAT32 = Precision((), 1e-5, 2.0**-23)
BFLOAT16 = Precision(("--mixed-precision", "bf16"), 4 * 2.0**-8, 2.0**-7)


def cases() -> list[str]:
    folders = [path.parent for path in sorted(HERE.glob("*/gradients.safetensors"))]
    return [folder.name for folder in folders if not (folder / "training.safetensors").exists()]


def compare_gradient(name: str, before: np.ndarray, after: np.ndarray, expected: np.ndarray, norm: float, precision: Precision) -> None:
    error = np.abs(before.astype(np.float64) - after - expected).max(initial=0)
    largest, weight = np.abs(expected).max(initial=0), np.abs(before).max(initial=0)
    if not error <= precision.bound * largest + precision.unit * (weight * (precision is FLOAT32) + norm):
        raise RuntimeError(f"gradient of {name}: differs by {error}, of {largest}")


def repeated(given: dict[str, np.ndarray], times: int) -> dict[str, np.ndarray]:
    return {name: np.concatenate([value] * times) for name, value in given.items()}


def check(compiler: Path, case: Path, precision: Precision, is_repeated: bool = False) -> str:
    gradients = load_file(case / "gradients.safetensors")
    loss = gradients.pop("loss").item()
    norm = np.sqrt(sum(np.square(gradient, dtype=np.float64).sum() for gradient in gradients.values()))
    inputs, labels = given_to(case)
    if is_repeated:
        times = TOKENS // labels["labels"].size
        inputs, labels = repeated(inputs, times), repeated(labels, times)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, "sgd", Path(scratch))
        data, log, saved = (runs.folder / name for name in ("data.safetensors", "log.jsonl", "saved"))
        save_file({name: value[None] for name, value in (inputs | labels).items()}, data)
        options = ("--learning-rate", 1, "--weight-decay", 0, "--max-grad-norm", 0, "--log", log, "--save", saved)
        runs.execute(runs.compile("--dropout", "0", *precision.options), "train", "-w", case, "--data", data, "--steps", 1, *options)
        line = json.loads(log.read_text())
        after = load_file(saved / "model.safetensors")
    for name, found, expected in (("loss", line["loss"], loss), ("grad_norm", line["grad_norm"], norm)):
        if not abs(found - expected) <= precision.bound * expected:
            raise RuntimeError(f"{name}: {found}, expected {expected:.9g}")
    before = load_file(case / "model.safetensors")
    for name, gradient in gradients.items():
        compare_gradient(name, before[name], after[name], gradient, norm, precision)
    return f"loss {loss:.6f}, norm {norm:.6f}, {len(gradients)} gradients"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="*", default=cases(), help="golden cases")
    options = parser.parse_args()
    compiler = options.compile.resolve()
    code = run_cases("first step", options.cases, lambda case: check(compiler, case, FLOAT32))
    several = [case for case in REPEATED if case in options.cases]
    code |= run_cases("first step in chunks", several, lambda case: check(compiler, case, FLOAT32, is_repeated=True))
    if quantize.multiplies_bfloat16() or "cuda" in TARGET:
        mixed = [case for case in MIXED if case in options.cases]
        code |= run_cases("first step in bf16", mixed, lambda case: check(compiler, case, BFLOAT16))
    return code


if __name__ == "__main__":
    sys.exit(main())
