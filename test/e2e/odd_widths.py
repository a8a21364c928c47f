#!/usr/bin/env python3
"""Linear layers of widths that no tile divides, on numbers of rows around the ends of tiles and tasks.

Layers of both layouts on weights that are parameters, against NumPy in float64: the largest error may be
three times that of NumPy's own product in float32 (both are single values). A row has the same bits among
any number of rows, with one, two and three threads. Where there are matrix registers the first rows of a
task split the panels: in the same place in turn if there are no others, in a step that is cut off, in
layers of one panel, in sums of several parts.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute
from safetensors.numpy import load_file, save_file

ARCHS = ("native/no-winograd", "native/no-amx")  # the first with matrix registers where there are any
SHAPES = ((1, 1), (31, 5), (64, 257), (100, 33), (1088, 70), (2500, 130), (7000, 9))  # inputs and outputs
ROWS = (1, 15, 16, 17, 32, 33, 65, 257, 530)
THREADS = (1, 2, 3)
FACTOR = 3.0


def model_text(k: int, n: int) -> str:
    x, y, dims = f"tensor<?x{k}xf32>", f"tensor<?x{n}xf32>", 'transformer.dims = ["rows"]'
    return f"""
transformer.parameter @v : tensor<{n}x{k}xf32>
transformer.parameter @w : tensor<{k}x{n}xf32>
func.func @forward(%x: {x} {{transformer.name = "x", {dims}}})
    -> ({y} {{transformer.name = "v", {dims}}}, {y} {{transformer.name = "w", {dims}}}) attributes {{transformer.entry}} {{
  %v = transformer.get_parameter @v : tensor<{n}x{k}xf32>
  %w = transformer.get_parameter @w : tensor<{k}x{n}xf32>
  %0 = transformer.linear %x, %v out_in : {x}, tensor<{n}x{k}xf32> -> {y}
  %1 = transformer.linear %x, %w in_out : {x}, tensor<{k}x{n}xf32> -> {y}
  return %0, %1 : {y}, {y}
}}
"""


def run(program: Path, weights: Path, x: np.ndarray, threads: int) -> dict[str, np.ndarray]:
    inputs, outputs = weights.with_name("in.safetensors"), weights.with_name("out.safetensors")
    save_file({"x": x}, inputs)
    done = execute([program, "run", "--weights", weights, "--inputs", inputs, "--outputs", outputs, "--threads", threads])
    if done.code != 0:
        raise RuntimeError(f"{len(x)} rows, {threads} threads: exit code {done.code}: {done.complaint()}")
    return load_file(outputs)


def check_shape(compiler: Path, k: int, n: int, arch: str, folder: Path, report: Report) -> None:
    source, program, weights = folder / "model.mlir", folder / "program", folder / "weights.safetensors"
    source.write_text(model_text(k, n))
    compile_program(compiler, source, program, "--arch", arch)
    draw = np.random.default_rng(k).standard_normal
    x, v, w = draw((max(ROWS), k), np.float32), draw((n, k), np.float32), draw((k, n), np.float32)
    save_file({"v": v, "w": w}, weights)
    whole, wrong = run(program, weights, x, 1), None
    for name, weight in (("v", v.T), ("w", w)):
        exact = x.astype(np.float64) @ weight
        error, plain = (np.abs(y - exact).max() for y in (whole[name], x @ weight))
        if not error <= FACTOR * plain:
            wrong = f"{name}: error {error:.2e}, NumPy's in float32 {plain:.2e}"
    report.add(f"odd widths, {k}x{n}, {arch}: against float64", wrong)
    wrong = None
    for rows in ROWS:
        for threads in THREADS:
            found = run(program, weights, x[:rows], threads)
            if any(found[name].tobytes() != y[:rows].tobytes() for name, y in whole.items()):
                wrong = f"{rows} rows, {threads} threads: not those of {max(ROWS)} rows"
    report.add(f"odd widths, {k}x{n}, {arch}: bits", wrong)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        for arch in ARCHS:
            for k, n in SHAPES:
                try:
                    check_shape(options.compile.resolve(), k, n, arch, Path(scratch), report)
                except RuntimeError as error:
                    report.add(f"odd widths, {k}x{n}, {arch}", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
