#!/usr/bin/env python3
"""Compares what a program wrote with the reference interpreter on the same weights and inputs.

usage: compare.py MODEL.mlir FOLDER INTERPRETER

FOLDER holds model, inputs and outputs (.safetensors). Prints, for each output, its shape, the first
numbers of the interpreter, and the largest difference's order; exit code 1 if that is above 2e-6.
"""

import json
import re
import struct
import subprocess
import sys
from array import array
from pathlib import Path

TYPES = {"F32": ("f", "f32"), "I64": ("q", "i64")}
BOUND = 2e-6


def read(path):
    """Name to (element type, shape, bytes)."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    data = content[8 + size :]
    header = json.loads(content[8 : 8 + size])
    return {
        name: (entry["dtype"], entry["shape"], data[slice(*entry["data_offsets"])])
        for name, entry in header.items()
        if name != "__metadata__"
    }


def dense(dtype, shape, data):
    sizes = "".join(f"{size}x" for size in shape)
    return f'dense<"0x{data.hex()}"> : tensor<{sizes}{TYPES[dtype][1]}>'


def with_values(text, weights, inputs):
    """The module with the values where the interpreter wants them."""

    def parameter(match):
        return f"{match[0]} {{test.value = {dense(*weights[match[1]])}}}"

    def argument(match):
        name = match[1]
        return f"test.value = {dense(*inputs[name])}, {match[0]}" if name in inputs else match[0]

    text = re.sub(r'^ *transformer\.parameter @"?([^\s"]+)"?.*$', parameter, text, flags=re.MULTILINE)
    head, results = text.split("transformer.entry", 1)[0].rsplit("->", 1)
    rest = text[len(head) :]
    return re.sub(r'transformer\.name = "(\w+)"', argument, head) + rest


def tensors_of(printed):
    """The interpreter's results, in order: (shape, values)."""
    results = []
    for line in printed.splitlines():
        if line.startswith("["):
            results.append(([int(size) for size in line[1:-1].split(",")], []))
        elif not line.startswith("@"):
            results[-1][1].extend(map(float, line.split()))
    return results


def main():
    model, folder, interpreter = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3]
    text = model.read_text()
    weights, inputs, outputs = (read(folder / f"{name}.safetensors") for name in ("model", "inputs", "outputs"))
    module = with_values(text, weights, inputs)
    done = subprocess.run([interpreter], input=module, capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    names = re.findall(r'transformer\.name = "(\w+)"', text[text.rindex("->", 0, text.index("transformer.entry")) :])
    wrong = False
    for name, (shape, expected) in zip(names, tensors_of(done.stdout), strict=True):
        found = array("f", outputs[name][2])
        same_shape = shape == outputs[name][1] and len(found) == len(expected)
        worst = max(abs(a - b) for a, b in zip(found, expected)) if same_shape else float("inf")
        wrong |= not worst <= BOUND
        print(f"{name} {shape}: " + " ".join(f"{value:.4f}" for value in expected[:4]))
        print(f"  differs by {'at most' if worst <= BOUND else 'MORE THAN'} {BOUND}", "" if worst <= BOUND else worst)
    sys.exit(wrong)


if __name__ == "__main__":
    main()
