#!/usr/bin/env python3
"""Compiles random programs of the dialect and compares them with the reference interpreter.

A seed gives the same program everywhere. One that differs, is refused or crashes is kept in the folder --keep,
with its weights and inputs.
"""

import argparse
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from harness import execute  # noqa: E402
from random_programs import random_program, write_data  # noqa: E402
from seeds import add_options, check_seeds  # noqa: E402

ARCHS = ("native", "native/winograd", "x86-64-v2")


def check(verify: Path, folder: Path, seed: int) -> str | None:
    """What is wrong with the program of a seed."""
    program = random_program(seed)
    (folder / "program.mlir").write_text(program.text())
    write_data(program, seed, folder)
    done = execute([verify, folder / "program.mlir", "--weights", folder / "model.safetensors", "--inputs", folder / "inputs.safetensors",
                    "--entry", ",".join(program.entries), "--arch", ARCHS[seed % len(ARCHS)], "--bound", "1e-4"])
    if done.code != 0:
        return f"exit code {done.code}: {(done.stderr.strip() or done.stdout.strip() or 'no message')[:300]}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--verify", type=Path, required=True, help="transformer-verify")
    add_options(parser, "programs")
    options = parser.parse_args()
    return check_seeds("programs", options, partial(check, options.verify.resolve()))


if __name__ == "__main__":
    sys.exit(main())
