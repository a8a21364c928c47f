#!/usr/bin/env python3
"""Differentiates random losses of the dialect and compares their gradients: differences of the loss beside the reference
interpreter, and that beside the compiled program, with what layers compute kept or computed again.

A seed gives the same loss everywhere. One that differs, is refused or crashes is kept in the folder --keep, with its
weights and inputs. Differences are of a smaller loss of the same seed; they take a fraction of the time.
"""

import argparse
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

for folder in ("e2e", "gradients"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
from compare import RECOMPUTE, Loss, Tools, compare_compiled, compare_differences  # noqa: E402
from harness import Report  # noqa: E402
from random_losses import inputs_of, random_loss, weights_of  # noqa: E402

ARCHS = ("native", "x86-64-v2")  # native/winograd takes four times as long to compile


def loss_of(seed: int, is_small: bool) -> Loss:
    program = random_loss(seed, is_small)
    return Loss(program.text(), weights_of(program, seed), inputs_of(program, seed, is_small))


def check_differences(tools: Tools, folder: Path, seed: int) -> None:
    loss = loss_of(seed, is_small=True)
    for recompute in RECOMPUTE if "call @" in loss.text else RECOMPUTE[:1]:
        compare_differences(tools, loss, folder, recompute)


def check_compiled(tools: Tools, folder: Path, seed: int) -> None:
    """Weights as a training step has them, for one in four as inference does."""
    loss = loss_of(seed, is_small=False)
    for recompute in RECOMPUTE if "call @" in loss.text else RECOMPUTE[:1]:
        compare_compiled(tools, loss, folder, ARCHS[seed % len(ARCHS)], recompute, weights_are_inputs=seed % 4 != 0)


def check(tools: Tools, scratch: Path, compiled: range, seed: int) -> str | None:
    """What is wrong with the gradients of a seed."""
    folder = scratch / str(seed)
    folder.mkdir()
    try:
        check_differences(tools, folder, seed)
        if seed in compiled:
            check_compiled(tools, folder, seed)
    except RuntimeError as error:
        return str(error)
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tools", type=Path, required=True, help="the folder of transformer-opt and the others")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many losses")
    parser.add_argument("--compiled", type=int, help="how many of them are compiled, too (default: all)")
    parser.add_argument("--keep", type=Path, help="where losses that fail are kept")
    options = parser.parse_args()
    report = Report()
    seeds = range(options.first, options.first + options.count)
    compiled = seeds if options.compiled is None else seeds[: options.compiled]
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = pool.map(partial(check, Tools(options.tools.resolve()), Path(scratch), compiled), seeds)
        for seed, reason in zip(seeds, reasons):
            report.add(f"gradients/{seed}", reason and reason.replace("\n", " | "))
            if reason and options.keep:
                shutil.copytree(Path(scratch) / str(seed), options.keep / str(seed), dirs_exist_ok=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
