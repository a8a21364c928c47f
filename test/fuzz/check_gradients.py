#!/usr/bin/env python3
"""Differentiates random losses of the dialect and compares their gradients: differences of the loss beside the reference
interpreter, and that beside the compiled program, with what layers compute kept or computed again.

A seed gives the same loss everywhere. One that differs, is refused or crashes is kept in the folder --keep, with its
weights and inputs. Differences are of a smaller loss of the same seed; they take a fraction of the time.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

for folder in ("e2e", "gradients"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
from compare import RECOMPUTE, WHOLE, Loss, Tools, compare_compiled, compare_differences  # noqa: E402
from random_losses import inputs_of, random_loss, weights_of  # noqa: E402
from seeds import add_options, check_seeds, seeds_of  # noqa: E402

CHUNK = 3  # rows
ARCHS = ("native", "x86-64-v2")  # native/winograd takes four times as long to compile


def loss_of(seed: int, is_small: bool) -> Loss:
    program = random_loss(seed, is_small)
    return Loss(program.text(), weights_of(program, seed), inputs_of(program, seed, is_small))


def check_differences(tools: Tools, folder: Path, seed: int) -> None:
    loss = loss_of(seed, is_small=True)
    for recompute in RECOMPUTE if "call @" in loss.text else RECOMPUTE[:1]:
        compare_differences(tools, loss, folder, recompute)


def check_compiled(tools: Tools, folder: Path, seed: int) -> None:
    """Weights as a training step has them, for one in four as inference does; for half of the seeds scores in chunks."""
    loss = loss_of(seed, is_small=False)
    for recompute in RECOMPUTE if "call @" in loss.text else RECOMPUTE[:1]:
        compare_compiled(tools, loss, folder, ARCHS[seed % len(ARCHS)], recompute, weights_are_inputs=seed % 4 != 0,
                         rows_of_chunk=CHUNK if seed // 2 % 2 else WHOLE)


def check(tools: Tools, compiled: range, folder: Path, seed: int) -> str | None:
    """What is wrong with the gradients of a seed."""
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
    parser.add_argument("--compiled", type=int, help="how many of them are compiled, too (default: all)")
    add_options(parser, "losses")
    options = parser.parse_args()
    compiled = seeds_of(options)[: options.compiled]
    return check_seeds("gradients", options, partial(check, Tools(options.tools.resolve()), compiled))


if __name__ == "__main__":
    sys.exit(main())
