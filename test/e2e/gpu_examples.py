#!/usr/bin/env python3
"""The models of examples/, written by hand with whole layers as ops, run by a GPU's driver (here an emulated one), beside
the reference interpreter on the same random weights. TRANSFORMER_TEST_TARGET says what for."""

import sys
from pathlib import Path

from harness import GOLDEN, Report, compile_program, execute, run_on_gpu

ROOT = GOLDEN.parents[1]
EXAMPLES = ("encoder.mlir", "encoder_decoder.mlir")


def why_not(compiler: Path, source: Path, folder: Path) -> str | None:
    program, files = folder / "program", {name: folder / f"{name}.safetensors" for name in ("model", "inputs", "outputs")}
    compile_program(compiler, source, program)
    run = [program, "run", "--weights", files["model"], "--inputs", files["inputs"], "--outputs", files["outputs"]]
    compare = [sys.executable, ROOT / "test/examples/Inputs/compare.py", source, folder, compiler.parent / "transformer-interpret"]
    for command in ([sys.executable, ROOT / "examples/random_weights.py", source, folder], run, compare):
        done = execute(command)
        if done.code != 0:
            return done.complaint()
    return None


def check(compiler: Path, scratch: Path, report: Report) -> None:
    for name in EXAMPLES:
        folder = scratch / name
        folder.mkdir()
        report.add(f"examples/{name}", why_not(compiler, ROOT / "examples" / name, folder))


if __name__ == "__main__":
    sys.exit(run_on_gpu(__doc__, "examples", check))
