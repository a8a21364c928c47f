#!/usr/bin/env python3
"""Sums over real widths stay exact, by multiply-adds alone, by Winograd's inner product and in matrix registers.

A BERT with BERT-base's widths against the float64 interpreter: the golden models are too narrow for
this. With one accumulator through all of k they pass, while this one's error more than doubles
(pooler_output 2.7e-6 of its largest value instead of 1.4e-6). And sums that are longer than a panel may be, of
weights that each call gets anew: in parts.
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
# Sums of 20011: several turns of a loop over parts and a shorter part, with the second-level caches that there are.
LONG = """
func.func @forward(%x: tensor<?x20011xf32> {transformer.name = "x"}, %v: tensor<40x20011xf32> {transformer.name = "v"}, %w: tensor<20011x37xf32> {transformer.name = "w"})
    -> (tensor<?x40xf32> {transformer.name = "of_v"}, tensor<?x37xf32> {transformer.name = "of_w"}) attributes {transformer.entry} {
  %0 = transformer.linear %x, %v out_in : tensor<?x20011xf32>, tensor<40x20011xf32> -> tensor<?x40xf32>
  %1 = transformer.linear %x, %w in_out : tensor<?x20011xf32>, tensor<20011x37xf32> -> tensor<?x37xf32>
  return %0, %1 : tensor<?x40xf32>, tensor<?x37xf32>
}
"""
ARCHS = ("native/no-winograd", "native/winograd", "native/no-amx")  # the first with matrix registers where there are any


def make_long(folder: Path) -> Path:
    """A model that is one such sum each of two layouts, and its inputs beside it."""
    draw = np.random.default_rng(1).standard_normal
    shapes = {"x": (TOKENS - 1, 20011), "v": (40, 20011), "w": (20011, 37)}
    save_file({name: draw(shape, np.float32) for name, shape in shapes.items()}, folder / "long.safetensors")
    save_file({"none": np.zeros(1, np.float32)}, folder / "none.safetensors")
    (folder / "long.mlir").write_text(LONG)
    return folder / "long.mlir"


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
        model = make_long(Path(scratch))
        for arch in ARCHS:
            files = ["--weights", model.with_name("none.safetensors"), "--inputs", model.with_suffix(".safetensors")]
            command = [verify, model, *files, "--bound", BOUND, "--arch", arch]
            done = execute(command)
            report.add(f"sums in parts, {arch}: within {BOUND:g} of the interpreter", None if done.code == 0 else done.complaint())
            command = [verify, folder, "--inputs", folder / "inputs.safetensors", "--bound", BOUND, "--arch", arch]
            done = execute(command)
            print(done.stdout, end="")
            report.add(f"wide sums, {arch}: within {BOUND:g} of the interpreter", None if done.code == 0 else done.complaint())
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
