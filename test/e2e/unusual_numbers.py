#!/usr/bin/env python3
"""Linear layers, by multiply-adds alone, by Winograd's inner product and in matrix registers, where there
are any, on numbers of unusual kinds.

One layer of K = 384, 768 and 3072 against NumPy in float64: its error, a root mean square, may be
twice that of NumPy's own product in float32. Where most of x or of the weights are zeros NumPy adds
less, and the others may have the multiple that the README states; in matrix registers what is below
2^-126 of the parts of a number counts as 0.

Then whole models with such numbers in their weights against the interpreter: the largest error by
Winograd's inner product and in matrix registers may be three times that by multiply-adds (all are single values). With
--live, or for a checkpoint, against PyTorch's error in float32; needs torch and transformers.
"""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute
from invariance import Model, Program, batched
from kinds import Layout, layer_kinds, model_kinds
from safetensors.numpy import load_file, save_file
from table_shapes import CONFIG, make_checkpoint

PLAIN, WINOGRAD, MATRICES = "native/no-amx/no-winograd", "native/winograd", "native/no-winograd"
ARCHS = (PLAIN, WINOGRAD, MATRICES)  # the last is the first again where there are no matrix registers
WIDTHS, OUTPUTS, ROWS = (384, 768, 3072), 256, 48
FACTOR = 2.0
LEAST_PART = 2.0**-126
# As the README says.
MATRIX_ZEROS = {"97.0% zeros in x": 2.5, "99% of the weights pruned": 2.5}
WINOGRAD_ZEROS = {"90.0% zeros in x": 3, "97.0% zeros in x": 3.5, "99.9% zeros in x": 6, "90% of the weights pruned": 3, "99% of the weights pruned": 5}
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2Model"], "vocab_size": 1000, "n_embd": 768, "n_head": 12, "n_positions": 256}
TOKENS = 2
# Without --live: what Winograd's inner product is most sensitive to.
MODEL_KINDS = {
    "bert": ("gamma of a pair x 50, weights / 50", "a head's values x 100, output weights / 100"),
    "gpt2": ("gamma lognormal(2), weights inverse", "two neurons with a bias of 50"),
}


def linear_text(width: int) -> str:
    x, w, y = f"tensor<{ROWS}x{width}xf32>", f"tensor<{OUTPUTS}x{width}xf32>", f"tensor<?x?x{OUTPUTS}xf32>"
    return f"""
transformer.parameter @x : {x}
transformer.parameter @w : {w}
func.func @forward(%input_ids: tensor<?x?xi64> {{transformer.name = "input_ids", transformer.range = array<i64: 0, {ROWS}>}},
                   %mask: tensor<?x?xi64> {{transformer.name = "attention_mask"}})
    -> ({y} {{transformer.name = "y"}}) attributes {{transformer.entry}} {{
  %ids, %seq = transformer.pack_tokens(%input_ids) mask(%mask) : (tensor<?x?xi64>), tensor<?x?xi64> -> tensor<?xi64>
  %x = transformer.get_parameter @x : {x}
  %w = transformer.get_parameter @w : {w}
  %rows = transformer.embedding %ids, %x : tensor<?xi64>, {x} -> tensor<?x{width}xf32>
  %y = transformer.linear %rows, %w out_in : tensor<?x{width}xf32>, {w} -> tensor<?x{OUTPUTS}xf32>
  %out = transformer.unpack_tokens %y, %seq : tensor<?x{OUTPUTS}xf32> -> {y}
  return %out : {y}
}}
"""


def relative_error(found: np.ndarray, exact: np.ndarray, scale: np.ndarray) -> float:
    """The root mean square of the errors, each over what its row and column are in size."""
    some = scale > 0
    return float(np.sqrt((((found - exact)[some] / scale[some]) ** 2).mean()))


def check_layers(compiler: Path, width: int, folder: Path, report: Report) -> None:
    source = folder / "linear.mlir"
    source.write_text(linear_text(width))
    programs = {}
    for arch in ARCHS:
        programs[arch] = folder / f"linear-{arch.replace('/', '-')}"
        compile_program(compiler, source, programs[arch], "--arch", arch)
    ids = np.arange(ROWS, dtype=np.int64)[None]
    weights, inputs = folder / "linear.safetensors", {"input_ids": ids, "attention_mask": np.ones_like(ids)}
    for name, (x, w) in layer_kinds(np.random.default_rng(1), ROWS, width, OUTPUTS).items():
        x, w = x.astype(np.float32), w.astype(np.float32)
        save_file({"x": x, "w": w}, weights)
        x64, w64 = x.astype(np.float64), w.astype(np.float64)
        exact, scale = x64 @ w64.T, np.linalg.norm(x64, axis=1)[:, None] * np.linalg.norm(w64, axis=1)
        plain = relative_error((x @ w.T).astype(np.float64), exact, scale)
        for arch in ARCHS:
            found = Program(programs[arch], weights, folder).run(inputs, 1)["y"][0].astype(np.float64)
            zeros = {PLAIN: {}, WINOGRAD: WINOGRAD_ZEROS, MATRICES: MATRIX_ZEROS}[arch]
            bound = zeros.get(name, FACTOR)
            if arch == MATRICES:
                lost = LEAST_PART * (np.abs(x64).sum(1)[:, None] + np.abs(w64).sum(1))
                bound += relative_error(exact + lost, exact, scale) / plain
            ratio = relative_error(found, exact, scale) / plain
            print(f"K = {width}, {name}, {arch}: {ratio:.2f} times the error of NumPy in float32")
            reason = None if ratio <= bound else f"error {ratio:.2f} times that of NumPy in float32, expected at most {bound:.2f}"
            report.add(f"numbers: K = {width}, {name}, {arch}", reason)


def layout_of(config: dict) -> Layout:
    fused = config["model_type"] == "gpt2"
    width, heads = ("n_embd", "n_head") if fused else ("hidden_size", "num_attention_heads")
    return Layout(fused, config[width], config[heads])


def changed_checkpoints(checkpoint: Path, config: dict, folder: Path):
    """Yields each kind's name and a folder with the changed checkpoint."""
    changed = folder / "changed"
    changed.mkdir(exist_ok=True)
    for file in checkpoint.glob("*.json"):
        shutil.copy(file, changed)
    for name, change in model_kinds(layout_of(config)).items():
        tensors = load_file(checkpoint / "model.safetensors")
        change(tensors)
        save_file(tensors, changed / "model.safetensors", metadata={"format": "pt"})
        yield name, changed


def largest_errors(output: str) -> dict[str, float]:
    """What transformer-verify says of each output."""
    lines = [line.split(": largest error ") for line in output.splitlines() if ": largest error " in line]
    return {name: float(rest.split(",")[0]) for name, rest in lines}


def check_model(compiler: Path, checkpoint: Path, config: dict, folder: Path, report: Report) -> None:
    verify = compiler.with_name("transformer-verify")
    ids = np.random.default_rng(0).integers(4, config["vocab_size"], (1, TOKENS))
    save_file({"input_ids": ids}, folder / "inputs.safetensors")
    for name, changed in changed_checkpoints(checkpoint, config, folder):
        if name not in MODEL_KINDS[config["model_type"]]:
            continue
        errors = {}
        for arch in ARCHS:
            done = execute([verify, changed, "--inputs", folder / "inputs.safetensors", "--bound", 1, "--arch", arch])
            if done.code != 0:
                report.add(f"numbers: {config['model_type']}, {name}, {arch}", done.complaint())
                break
            errors[arch] = largest_errors(done.stdout)
        else:
            plain = errors[PLAIN]["last_hidden_state"]
            for arch in (WINOGRAD, MATRICES):
                ours = errors[arch]["last_hidden_state"]
                print(f"{config['model_type']}, {name}, {arch}: {ours / plain:.2f} times the largest error by multiply-adds")
                reason = None if ours <= 3 * plain else f"largest error {ours:.2e}, by multiply-adds {plain:.2e}"
                report.add(f"numbers: {config['model_type']}, {name}, {arch}", reason)


def check_live(compiler: Path, checkpoint: Path, config: dict, folder: Path, report: Report) -> None:
    sys.path.insert(0, str(GOLDEN))
    from reference import Reference, run_model

    programs = {}
    for arch in ARCHS:
        programs[arch] = folder / f"model-{arch.replace('/', '-')}"
        compile_program(compiler, checkpoint, programs[arch], "--arch", arch)
    random, model = np.random.default_rng(7), Model(config)
    inputs = batched([model.row(random, 96) for _ in range(2)], 96)
    for name, changed in changed_checkpoints(checkpoint, config, folder):
        reference = Reference(changed, config)
        exact = run_model(reference.exact, inputs)["last_hidden_state"]

        def error(found: np.ndarray, exact: np.ndarray = exact) -> float:
            return float(np.sqrt(((found - exact) ** 2).mean()))

        single = error(run_model(reference.single, inputs)["last_hidden_state"])
        for arch in ARCHS:
            found = Program(programs[arch], changed / "model.safetensors", folder).run(inputs, 2)["last_hidden_state"]
            ratio = error(found) / single
            print(f"{checkpoint.name}, {name}, {arch}: {ratio:.2f} times the error of PyTorch in float32")
            reason = None if ratio <= FACTOR else f"error {ratio:.2f} times that of PyTorch in float32"
            report.add(f"numbers: {checkpoint.name}, {name}, {arch}", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile; transformer-verify beside it")
    parser.add_argument("--live", action="store_true", help="whole models beside PyTorch")
    parser.add_argument("checkpoints", nargs="*", type=Path, help="BERT-like or GPT-2, for --live")
    options = parser.parse_args()
    compiler, report = options.compile.resolve(), Report()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        try:
            for width in WIDTHS:
                check_layers(compiler, width, folder, report)
            layers = 2 if options.live else 1  # the interpreter takes its time
            models = {"bert": CONFIG | {"num_hidden_layers": layers}, "gpt2": GPT2 | {"n_layer": layers}}
            checkpoints = [make_checkpoint(compiler, folder / name, config) for name, config in models.items()]
            for checkpoint in [*checkpoints, *options.checkpoints]:
                config = json.loads((checkpoint / "config.json").read_text())
                if options.live:
                    check_live(compiler, checkpoint, config, folder, report)
                elif checkpoint in checkpoints:
                    check_model(compiler, checkpoint, config, folder, report)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add("numbers", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
