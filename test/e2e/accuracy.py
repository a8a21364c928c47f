#!/usr/bin/env python3
"""The error of a checkpoint's program against PyTorch in float64, for every shape of the benchmark.

On the same random inputs, our largest error may be twice that of PyTorch in float32. Prints both.
Needs torch and transformers.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program
from invariance import Model, Program, batched
from table_shapes import table_shapes

sys.path.insert(0, str(GOLDEN))
from compare import FACTOR, max_error, output_mask, problem  # noqa: E402


def check_shape(label: str, reference, program: Program, inputs: dict[str, np.ndarray], report: Report) -> None:
    expected, errors = reference.expected(inputs)
    mask, found = output_mask(reference.config, inputs), program.run(inputs, 2)
    for name, exact in expected.items():
        reason = problem(name, found.get(name), exact, mask, FACTOR * errors[name])
        if not reason:
            ours = max_error(name, found[name], exact, mask)
            ratio = ours / errors[name]
            print(f"{label}: {name}: ours {ours:.2e}, PyTorch float32 {errors[name]:.2e}, ratio {ratio:.2f}")
        report.add(f"{label}: {name}", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="directory with config.json and model.safetensors")
    parser.add_argument("--compile", type=Path, help="transformer-compile")
    parser.add_argument("--program", type=Path, help="a program compiled before, in place of --compile")
    arguments = parser.parse_args()
    if bool(arguments.compile) == bool(arguments.program):
        parser.error("give --compile or --program")
    from reference import Reference

    config = json.loads((arguments.checkpoint / "config.json").read_text())
    name, report, random = arguments.checkpoint.resolve().name, Report(), np.random.default_rng(13)
    with tempfile.TemporaryDirectory() as folder:
        program = (arguments.program or Path(folder) / "program").resolve()
        try:
            if arguments.compile:
                compile_program(arguments.compile.resolve(), arguments.checkpoint, program)
            runner = Program(program, arguments.checkpoint / "model.safetensors", Path(folder))
            reference, model = Reference(arguments.checkpoint, config), Model(config)
            for shape, lengths in table_shapes().items():
                inputs = batched([model.row(random, length) for length in lengths], max(lengths))
                check_shape(f"accuracy/{name}, {shape}", reference, runner, inputs, report)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add(f"accuracy/{name}", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
