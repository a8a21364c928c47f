#!/usr/bin/env python3
"""Training of a part of a model: frozen parameters, and a new head on a checkpoint that has none."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

sys.path.append(str(GOLDEN))
from gradients import labels_for  # noqa: E402
from train import first_steps  # noqa: E402

FROZEN = ("transformer.w?e.weight", "transformer.h.0.*")  # of gpt2-lm
NEW = ("classifier.weight", "classifier.bias")  # of bert-sequence-classification

Arrays = dict[str, np.ndarray]


def train(program: Path, folder: Path, name: str, *options: object) -> tuple[Arrays, str]:
    """What a run saves, and what it says."""
    done = execute([program, "train", "--data", folder / "data.safetensors", "--save", folder / name, *options])
    if done.code != 0:
        raise RuntimeError(f"{name}: {done.complaint()}")
    return load_file(folder / name / "model.safetensors"), done.stderr


def why_not_frozen(compiler: Path, folder: Path) -> str | None:
    """One step without clipping changes each trained parameter as it does where all are, and no frozen one.

    To the last bit, without matrix registers: these multiply weights that are trained, and no frozen ones.
    """
    case = GOLDEN / "gpt2-lm"
    save_file(first_steps(case, 1), folder / "data.safetensors")
    found = []
    for name, options in {"all": (), "part": ("--freeze", ",".join(FROZEN))}.items():
        compile_program(compiler, case, folder / name, "--mode", "train", "--dropout", "0", "--arch", "native/no-amx", *options)
        found.append(train(folder / name, folder, f"{name}-saved", "-w", case, "--max-grad-norm", 0)[0])
    given = load_file(case / "model.safetensors")
    for name, value in given.items():
        is_frozen = name.startswith(("transformer.wte", "transformer.wpe", "transformer.h.0."))
        if not np.array_equal(found[1][name], value if is_frozen else found[0][name]):
            return f"{name}: {'changed' if is_frozen else 'differs from where all are trained'}"
        if not is_frozen and np.array_equal(found[1][name], value):
            return f"{name}: not trained"
    return None


def why_not_new_head(compiler: Path, folder: Path) -> str | None:
    """What the weights lack begins with numbers of the seed, by name, and the rest as it is."""
    case = GOLDEN / "bert-sequence-classification"
    compile_program(compiler, case, folder / "head", "--mode", "train", "--dropout", "0")
    given, inputs = load_file(case / "model.safetensors"), load_file(case / "inputs.safetensors")
    save_file({name: value for name, value in given.items() if name not in NEW}, folder / "base.safetensors")
    inputs |= labels_for(json.loads((case / "config.json").read_text()), inputs)
    save_file({name: value[None] for name, value in inputs.items()}, folder / "data.safetensors")
    command = [folder / "head", "train", "--data", folder / "data.safetensors", "-w", folder / "base.safetensors"]
    done = execute(command)
    if done.code == 0 or 'missing tensor "classifier.' not in done.stderr or "--init" not in done.stderr:
        return f"without --init: {done.complaint()}"
    still = ("--learning-rate", 0)
    begun, said = train(folder / "head", folder, "begun", "-w", folder / "base.safetensors", "--init", 5, *still)
    if not all(name in said for name in NEW):
        return f"does not say what is new: {said[:200]}"
    seeded, _ = train(folder / "head", folder, "seeded", "--init", 5, *still)
    for name in given:
        if not np.array_equal(begun[name], (seeded if name in NEW else given)[name]):
            return f"{name} is not what it begins with"
    if not begun["classifier.weight"].any():
        return "a new head of zeros"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    compiler = parser.parse_args().compile.resolve()
    report = Report()
    for name, why_not in {"frozen": why_not_frozen, "new head": why_not_new_head}.items():
        with tempfile.TemporaryDirectory() as scratch:
            report.add(f"parts/{name}", why_not(compiler, Path(scratch)))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
