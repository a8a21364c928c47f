"""Gradients of a loss as text: finite differences beside the interpreter, and the interpreter beside the compiled program.

A loss is a module with the entry point @loss, whose arguments have names. What differs is a RuntimeError.
"""

import re
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
import quantize  # noqa: E402
from harness import COMPILE_SECONDS, execute  # noqa: E402

# What stands in front of transformer-differentiate when a program is compiled to train.
BEFORE = ("isolate-entries", "expand-composites", None, "deduplicate-layers")
RECOMPUTE = ("none", "layer")
WHOLE = 512  # rows of a chunk of scores: what the pass has, and more than the losses have

# An error in float32 goes with the gradient's own largest number and, where terms cancel, with theirs, which are like
# the largest number of all outputs: the gradient of a key's bias is all rounding.
OF_ITSELF, OF_LARGEST = 2e-5, 1e-6
# A float32 number near the middle of two of a narrow format may fall to the other side than a float64 one.
OF_ROUNDED = 1e-3
OF_DIFFERENCES = 1e-6  # float64, of the gradient's largest number


@dataclass
class Loss:
    text: str
    weights: dict[str, np.ndarray]
    inputs: dict[str, np.ndarray]


@dataclass
class Tools:
    folder: Path  # of the build's programs
    verify: str = "transformer-verify"  # what compiles, and compares with the interpreter
    options: tuple[str, ...] = ()  # of it

    def run(self, name: str, *arguments: object) -> str:
        done = execute([self.folder / name, *arguments], COMPILE_SECONDS)
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {(done.stderr.strip() or done.stdout.strip() or 'no message')[-600:]}")
        return done.stdout


def differentiated(tools: Tools, file: Path, recompute: str, weights_are_inputs: bool, rows_of_chunk: int) -> str:
    """Loss and gradients as the only entry point. Weights become inputs as a training step has them, so that none is
    packed beforehand."""
    before = [f"--transformer-{name}" if name else "--canonicalize" for name in BEFORE]
    before.insert(before.index("--canonicalize") + 1, "--cse")
    text = tools.run("transformer-opt", file, *before, f"--transformer-differentiate=recompute={recompute}",
                     f"--transformer-chunk-loss=rows={rows_of_chunk}", "--canonicalize", "--cse")
    text = text.replace("func.func @loss(", "func.func private @loss(")
    head, begin, text = text.partition("func.func @loss_and_gradients(")
    body, end, others = text.partition("\n  }\n")
    if weights_are_inputs:
        reads = re.findall(r"(%\w+) = transformer\.get_parameter @(\w+) : (\S+)", body)
        body = re.sub(r"%\w+ = transformer\.get_parameter @.*", "", body)
        for value, name, _ in reads:
            body = re.sub(rf"{value}\b(?!:)", f"%in_{name}", body)
        body = "".join(f'%in_{name}: {kind} {{transformer.name = "{name}"}}, ' for _, name, kind in reads) + body
    file = file.with_suffix(".unused.mlir")
    file.write_text(head + begin + body + end + others)
    return tools.run("transformer-opt", file, "--symbol-dce")


def compare_compiled(tools: Tools, loss: Loss, folder: Path, arch: str, recompute: str, weights_are_inputs: bool,
                     rounding: str = "", rows_of_chunk: int = WHOLE) -> None:
    """The compiled program's loss and gradients beside the interpreter's, linear layers on numbers of `rounding`."""
    (folder / "loss.mlir").write_text(loss.text)
    program = folder / f"{recompute}.mlir"
    program.write_text(differentiated(tools, folder / "loss.mlir", recompute, weights_are_inputs, rows_of_chunk))
    save_file(loss.weights, folder / "model.safetensors")
    taken = {name: weight for name, weight in loss.weights.items() if f'transformer.name = "{name}"' in program.read_text()}
    save_file(loss.inputs | taken, folder / "inputs.safetensors")
    tools.run(tools.verify, program, "--weights", folder / "model.safetensors", "--inputs", folder / "inputs.safetensors",
              "--entry", "loss_and_gradients", "--arch", arch, *tools.options, "--bound", OF_ROUNDED if rounding else OF_ITSELF, "--floor", OF_LARGEST,
              *(quantize.options(rounding) if rounding else []))


def compare_differences(tools: Tools, loss: Loss, folder: Path, recompute: str) -> None:
    """The interpreter's gradients beside differences of the loss, both in float64, with the tool's own random weights."""
    text = loss.text
    for name, values in loss.inputs.items():
        kind = f"tensor<{'x'.join(map(str, values.shape))}x{'f32' if values.dtype == np.float32 else 'i64'}>"
        text = text.replace(f'{{transformer.name = "{name}"', f'{{test.value = dense<{values.tolist()}> : {kind}, transformer.name = "{name}"')
    (folder / "differences.mlir").write_text(scaled(text))
    tools.run("transformer-check-gradients", folder / "differences.mlir", "--recompute", recompute, "--bound", OF_DIFFERENCES)


def scaled(text: str) -> str:
    """Weights of the size that keeps rows as large as they are, not of 1."""
    def replace(read: re.Match) -> str:
        value, name, kind = read.groups()
        sizes = [int(size) for size in re.findall(r"\d+(?=x)", kind)]
        size = (sizes[-1] if len(sizes) > 1 else 9) ** -0.5
        return (f"{value}_read = transformer.get_parameter @{name} : {kind}\n  {value}_size = arith.constant dense<{size:.4f}> : {kind}\n"
                f"  {value} = arith.mulf {value}_read, {value}_size : {kind}")
    return re.sub(r"(%\w+) = transformer\.get_parameter @(\w+) : (\S+)", replace, text)
