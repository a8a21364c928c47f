#!/usr/bin/env python3
"""Random weights and inputs for a model written by hand, so that it can be run without a checkpoint.

usage: random_weights.py MODEL.mlir FOLDER

Writes FOLDER/model.safetensors with a tensor for every `transformer.parameter`, and
FOLDER/inputs.safetensors with three ragged rows for every [batch, sequence] input that has no
default, and for the masks. The same file gives the same numbers. Needs nothing but Python.
"""

import json
import math
import random
import re
import struct
import sys
from array import array
from pathlib import Path

LENGTHS = {"": (5, 1, 3), "decoder_": (2, 4, 3)}


def write_safetensors(path: Path, tensors: dict[str, tuple[str, list[int], bytes]]) -> None:
    """`tensors`: name to type, shape and bytes."""
    header, offset = {}, 0
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + len(data)]}
        offset += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(data for _, _, data in tensors.values()))


def parameters(text: str) -> list[tuple[str, list[int], str]]:
    """Name, shape and kind of initialiser of every parameter of the module."""
    aliases = dict(re.findall(r"^(!\w+) = (tensor<[^>]*>)", text, re.MULTILINE))
    found = []
    for name, kind, init in re.findall(r'^ *transformer\.parameter @"?([^\s"]+)"? : (\S+)(?: init\(\S*<(\w+))?', text, re.MULTILINE):
        sizes = re.fullmatch(r"tensor<((?:\d+x)+)f32>", aliases.get(kind, kind))
        if not sizes:
            sys.exit(f"error: parameter {name}: expected a static tensor of f32, found {kind}")
        found.append((name, [int(size) for size in sizes[1].split("x")[:-1]], init))
    return found


def center_and_spread(shape: list[int], init: str) -> tuple[float, float]:
    """Matrices near 1/sqrt(columns), norms near 1, all else near 0."""
    return 1.0 if init == "ones" else 0.0, 1.0 / math.sqrt(shape[-1]) if len(shape) > 1 else 0.2


def weight(name: str, shape: list[int], init: str) -> bytes:
    generator = random.Random(name)
    center, spread = center_and_spread(shape, init)
    values = array("f", (center + spread * generator.gauss(0, 1) for _ in range(math.prod(shape))))
    return values.tobytes()


def inputs(text: str) -> dict[str, tuple[str, list[int], bytes]]:
    tensors = {}
    for attributes in re.findall(r"tensor<\?x\?xi64>\s*\{([^{}]*)\}", text):
        name = re.search(r'transformer\.name = "(\w+)"', attributes)[1]
        lengths = LENGTHS["decoder_" if name.startswith("decoder_") else ""]
        limits = re.search(r"transformer\.range = array<i64: (-?\d+), (\d+)>", attributes)
        if name.endswith("attention_mask"):
            value = lambda: 1  # noqa: E731
        elif limits and "transformer.default" not in attributes:
            generator = random.Random(name)
            value = lambda: generator.randrange(int(limits[1]), int(limits[2]))  # noqa: E731
        else:
            continue
        columns = max(lengths)
        values = [value() if column < length else 0 for length in lengths for column in range(columns)]
        tensors[name] = ("I64", [len(lengths), columns], struct.pack(f"<{len(values)}q", *values))
    return tensors


def main() -> None:
    if len(sys.argv) != 3:
        sys.exit(__doc__.split("\n\n")[1])
    text, folder = Path(sys.argv[1]).read_text(), Path(sys.argv[2])
    folder.mkdir(parents=True, exist_ok=True)
    weights = {name: ("F32", shape, weight(name, shape, init)) for name, shape, init in parameters(text)}
    write_safetensors(folder / "model.safetensors", weights)
    write_safetensors(folder / "inputs.safetensors", inputs(text))


if __name__ == "__main__":
    main()
