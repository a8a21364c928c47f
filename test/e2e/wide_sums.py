#!/usr/bin/env python3
"""Sums over real widths stay exact, by multiply-adds alone and by Winograd's inner product.

A BERT with BERT-base's widths against the float64 interpreter: the golden models are too narrow for
this. With one accumulator through all of k they pass, while this one's error more than doubles
(pooler_output 2.7e-6 of its largest value instead of 1.4e-6).

Then one linear layer on numbers of many kinds, against NumPy in float64: its error may be twice that
of NumPy's own product in float32. Pairs of products are most sensitive to numbers that are not
centred on zero and to rows and columns of unlike size.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute
from invariance import Program
from safetensors.numpy import save_file
from table_shapes import CONFIG, make_checkpoint

# Of an output's largest value.
BOUND = 2e-6
TOKENS = 64


ARCHS = ("native/no-winograd", "native/winograd")
WIDTH, OUTPUTS, ROWS = 768, 512, 48
LINEAR = f"""
transformer.parameter @x : tensor<{ROWS}x{WIDTH}xf32>
transformer.parameter @w : tensor<{OUTPUTS}x{WIDTH}xf32>
func.func @forward(%input_ids: tensor<?x?xi64> {{transformer.name = "input_ids", transformer.range = array<i64: 0, {ROWS}>}},
                   %mask: tensor<?x?xi64> {{transformer.name = "attention_mask"}})
    -> (tensor<?x?x{OUTPUTS}xf32> {{transformer.name = "y"}}) attributes {{transformer.entry}} {{
  %ids, %seq = transformer.pack_tokens(%input_ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.get_parameter @x : tensor<{ROWS}x{WIDTH}xf32>
  %w = transformer.get_parameter @w : tensor<{OUTPUTS}x{WIDTH}xf32>
  %rows = transformer.embedding %ids, %x : tensor<?xi64>, tensor<{ROWS}x{WIDTH}xf32> -> tensor<?x{WIDTH}xf32>
  %y = transformer.linear %rows, %w out_in : tensor<?x{WIDTH}xf32>, tensor<{OUTPUTS}x{WIDTH}xf32> -> tensor<?x{OUTPUTS}xf32>
  %out = transformer.unpack_tokens %y, %seq : tensor<?x{OUTPUTS}xf32> -> tensor<?x?x{OUTPUTS}xf32>
  return %out : tensor<?x?x{OUTPUTS}xf32>
}}
"""


def kinds(random: np.random.Generator) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """x `[ROWS, WIDTH]` and w `[OUTPUTS, WIDTH]`."""

    def x() -> np.ndarray:
        return random.standard_normal((ROWS, WIDTH))

    def w() -> np.ndarray:
        return 0.02 * random.standard_normal((OUTPUTS, WIDTH))

    def outliers(columns: list[int], size: float) -> np.ndarray:
        values = x()
        values[:, columns] *= size
        return values

    return {
        "normal": (x(), w()),
        "positive": (np.maximum(x(), 0), w()),
        "around 3": (x() + 3, w()),
        "weights around their spread": (x(), w() + 0.02),
        "three features of 30": (outliers([5, 100, 301], 30), w()),
        "a feature of 1000": (outliers([6], 1000), w()),
        "lognormal": (random.lognormal(0, 2, (ROWS, WIDTH)), w()),
        "heavy tails": (random.standard_t(2, (ROWS, WIDTH)), 0.01 * random.standard_t(3, (OUTPUTS, WIDTH))),
        "rows from 1e-12 to 1e12": (x() * np.logspace(-12, 12, ROWS)[:, None], w()),
        "columns from 1e-12 to 1e12": (x(), w() * np.logspace(-12, 12, OUTPUTS)[:, None]),
        "features of unlike size": (x() * random.lognormal(0, 1, WIDTH), w() / random.lognormal(0, 1, WIDTH)),
    }


def relative_error(found: np.ndarray, exact: np.ndarray, scale: np.ndarray) -> float:
    """The root mean square of the errors, each over what its row and column are in size."""
    return float(np.sqrt((((found - exact) / scale) ** 2).mean()))


def check_kinds(compiler: Path, arch: str, folder: Path, report: Report) -> None:
    source, program = folder / "linear.mlir", folder / "linear"
    source.write_text(LINEAR)
    compile_program(compiler, source, program, "--arch", arch)
    ids = np.arange(ROWS, dtype=np.int64)[None]
    for name, (x, w) in kinds(np.random.default_rng(1)).items():
        x, w = x.astype(np.float32), w.astype(np.float32)
        weights = folder / "linear.safetensors"
        save_file({"x": x, "w": w}, weights)
        inputs = {"input_ids": ids, "attention_mask": np.ones_like(ids)}
        found = Program(program, weights, folder).run(inputs, 1)["y"][0]
        exact = x.astype(np.float64) @ w.T.astype(np.float64)
        scale = np.linalg.norm(x.astype(np.float64), axis=1)[:, None] * np.linalg.norm(w.astype(np.float64), axis=1)
        ours, plain = relative_error(found, exact, scale), relative_error(x @ w.T, exact, scale)
        reason = None if ours <= 2 * plain else f"error {ours:.2e}, expected at most twice {plain:.2e}"
        print(f"{arch}, {name}: {ours / plain:.2f} times the error of NumPy in float32")
        report.add(f"wide sums, {arch}: {name}", reason)


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
            try:
                check_kinds(options.compile.resolve(), arch, Path(scratch), report)
            except (RuntimeError, OSError) as error:
                report.add(f"wide sums, {arch}", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
