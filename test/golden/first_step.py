#!/usr/bin/env python3
"""The first step of compiled training programs beside what gradients.py has recorded: the loss, the norm of all
gradients, and each gradient, which is what a step of SGD takes from its parameter. Of families and heads whose training
train.py does not follow for longer. Where this CPU multiplies bfloat16, or the GPU that and float16 and TF32, some with
--mixed-precision as well: what it computes exactly gradients/check_ops.py asks; here that it is the same step, but for the rounding:
at most twice as far off as PyTorch's autocast is, which --live asks (else what it said once); of TF32, as that to float16, which has
as many digits. Some with each row
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
from train import Runs

sys.path.append(str(HERE.parent))
import quantize  # noqa: E402
from harness import TARGET  # noqa: E402

REPEATED = ("deberta-masked-lm", "llama-lm", "marian-lm")  # a head with a bias, of its own, and with a frozen bias
TOKENS = 1800  # with padding: more than three chunks of rows
if "cuda" in TARGET:  # whose chunks are larger, and which is often an emulated one
    REPEATED, TOKENS = REPEATED[1:2], 4600
# What PyTorch's autocast is off by, of the gradient for which that is most: its share of `size_of`.
BFLOAT16 = {
    "albert-pretraining": 1.41e-2, "bert-masked-lm": 2.58e-3, "deberta-masked-lm": 2.02e-3, "gpt2-lm": 2.13e-3, "llama-lm": 4.40e-3,
    "marian-lm": 7.78e-3, "vit-grey": 3.45e-3, "whisper-lm": 2.70e-3}
FLOAT16 = {
    "albert-pretraining": 9.97e-4, "bert-masked-lm": 4.49e-4, "deberta-masked-lm": 3.27e-4, "gpt2-lm": 2.94e-4, "llama-lm": 1.42e-3,
    "marian-lm": 5.36e-4, "vit-grey": 7.40e-4, "whisper-lm": 3.50e-4}
MIXED = {"bf16": BFLOAT16, "f16": FLOAT16, "tf32": FLOAT16}
DIGITS = {"bf16": 8, "f16": 11, "tf32": 11}
AUTOCAST_SCALE = 4096  # of the loss: gradients neither vanish in float16 nor overflow


@dataclass
class Precision:
    """`bound`: of a value, a sum of products; `unit`: of a weight and of the norm: rounding of the weight, and of sums
    that cancel, as of a key's bias; `share`: of a gradient's size instead of both."""
    options: tuple[str, ...]
    bound: float
    unit: float = 0
    share: float = 0


FLOAT32 = Precision((), 1e-5, 2.0**-23)


def mixed(form: str, share: float) -> Precision:
    return Precision(("--mixed-precision", form), 4 * 2.0 ** -DIGITS[form], share=share)


def size_of(expected: np.ndarray, norm: float) -> float:
    """Its largest number, and for sums that cancel some of the norm of all gradients."""
    return np.abs(expected).max(initial=0) + norm / 2


def norm_of(gradients: dict[str, np.ndarray]) -> float:
    return np.sqrt(sum(np.square(gradient, dtype=np.float64).sum() for gradient in gradients.values()))


def autocast_error(case: Path, form: str) -> float:
    """The largest share of a gradient's size that the installed PyTorch's autocast is off by."""
    import torch
    from gradients import ask

    expected = load_file(case / "gradients.safetensors")
    with torch.autocast("cpu", dtype=torch.bfloat16 if form == "bf16" else torch.float16):
        found = ask(case, *given_to(case), dtype=torch.float32, scale=AUTOCAST_SCALE)
    del expected["loss"]
    return max(np.abs(found[name] / AUTOCAST_SCALE - gradient).max() / size_of(gradient, norm_of(expected)) for name, gradient in expected.items())


def cases() -> list[str]:
    folders = [path.parent for path in sorted(HERE.glob("*/gradients.safetensors"))]
    return [folder.name for folder in folders if not (folder / "training.safetensors").exists()]


def compare_gradient(name: str, before: np.ndarray, after: np.ndarray, expected: np.ndarray, norm: float, precision: Precision) -> None:
    error = np.abs(before.astype(np.float64) - after - expected).max(initial=0)
    largest, weight = np.abs(expected).max(initial=0), np.abs(before).max(initial=0)
    bound = precision.share * size_of(expected, norm) if precision.share else precision.bound * largest + precision.unit * (weight + norm)
    if not error <= bound:
        raise RuntimeError(f"gradient of {name}: differs by {error}, of {largest}")


def repeated(given: dict[str, np.ndarray], times: int) -> dict[str, np.ndarray]:
    return {name: np.concatenate([value] * times) for name, value in given.items()}


def check(compiler: Path, case: Path, precision: Precision, is_repeated: bool = False) -> str:
    gradients = load_file(case / "gradients.safetensors")
    loss = gradients.pop("loss").item()
    norm = norm_of(gradients)
    inputs, labels = given_to(case)
    if is_repeated:
        times = TOKENS // labels["labels"].size
        inputs, labels = repeated(inputs, times), repeated(labels, times)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, "sgd", Path(scratch))
        data, log, saved = (runs.folder / name for name in ("data.safetensors", "log.jsonl", "saved"))
        save_file({name: value[None] for name, value in (inputs | labels).items()}, data)
        options = ("--learning-rate", 1, "--weight-decay", 0, "--max-grad-norm", 0, "--log", log, "--save", saved)
        program = runs.compile("--dropout", "0", *precision.options, verify_each=True)
        runs.execute(program, "train", "-w", case, "--data", data, "--steps", 1, *options)
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
    parser.add_argument("cases", nargs="*", help="golden cases (default: those that train.py has not)")
    parser.add_argument("--live", action="store_true", help="ask the installed PyTorch what its autocast is off by")
    parser.add_argument("--mixed", nargs="*", choices=MIXED, default=["bf16"], help="with these, too (default: bf16)")
    options = parser.parse_args()
    if unknown := [case for case in options.cases if not (HERE / case / "gradients.safetensors").exists()]:
        parser.error(f"no gradients are recorded of {', '.join(unknown)}")
    compiler = options.compile.resolve()
    chosen = set(options.cases or [*cases(), *BFLOAT16])
    code = run_cases("first step", options.cases or cases(), lambda case: check(compiler, case, FLOAT32))
    if several := [case for case in REPEATED if case in chosen]:
        code |= run_cases("first step in chunks", several, lambda case: check(compiler, case, FLOAT32, is_repeated=True))
    for form in options.mixed if quantize.multiplies_bfloat16() or "cuda" in TARGET else ():
        def check_mixed(case: Path, form: str = form) -> str:
            of_autocast = autocast_error(case, form) if options.live else MIXED[form][case.name]
            return check(compiler, case, mixed(form, 2 * of_autocast))

        if rounded := [case for case in MIXED[form] if case in chosen]:
            code |= run_cases(f"first step in {form}", rounded, check_mixed)
    return code


if __name__ == "__main__":
    sys.exit(main())
