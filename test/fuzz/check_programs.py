#!/usr/bin/env python3
"""Compiles random programs of the dialect and compares them with the reference interpreter.

A seed gives the same program everywhere. One that differs, is refused or crashes is kept in the folder --keep,
with its weights and inputs.
"""

import argparse
import os
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from harness import Report, execute  # noqa: E402
from random_programs import random_program, write_data  # noqa: E402

ARCHS = ("native", "native/winograd", "x86-64-v2")


def check(verify: Path, scratch: Path, seed: int) -> str | None:
    """What is wrong with the program of a seed."""
    program, folder = random_program(seed), scratch / str(seed)
    folder.mkdir()
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
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help="how many programs")
    parser.add_argument("--keep", type=Path, help="where programs that fail are kept")
    options = parser.parse_args()
    report = Report()
    seeds = range(options.first, options.first + options.count)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, reason in zip(seeds, pool.map(partial(check, options.verify.resolve(), Path(scratch)), seeds)):
            report.add(f"programs/{seed}", reason)
            if reason and options.keep:
                shutil.copytree(Path(scratch) / str(seed), options.keep / str(seed), dirs_exist_ok=True)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
