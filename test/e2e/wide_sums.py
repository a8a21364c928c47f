#!/usr/bin/env python3
"""Sums over real widths stay exact, by multiply-adds alone and by Winograd's inner product.

A BERT with BERT-base's widths against the float64 interpreter: the golden models are too narrow for
this. With one accumulator through all of k they pass, while this one's error more than doubles
(pooler_output 2.7e-6 of its largest value instead of 1.4e-6).
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, execute
from safetensors.numpy import save_file
from table_shapes import CONFIG, make_checkpoint

# Of an output's largest value.
BOUND = 2e-6
TOKENS = 64
ARCHS = ("native/no-winograd", "native/winograd")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile; transformer-verify beside it")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        folder = make_checkpoint(options.compile, Path(scratch) / "bert")
        ids = np.random.default_rng(0).integers(0, CONFIG["vocab_size"], (1, TOKENS))
        save_file({"input_ids": ids}, folder / "inputs.safetensors")
        verify = options.compile.resolve().with_name("transformer-verify")
        for arch in ARCHS:
            command = [verify, folder, "--inputs", folder / "inputs.safetensors", "--bound", BOUND, "--arch", arch]
            done = execute(command)
            print(done.stdout, end="")
            report.add(f"wide sums, {arch}: within {BOUND:g} of the interpreter", None if done.code == 0 else done.complaint())
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
