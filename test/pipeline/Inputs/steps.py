#!/usr/bin/env python3
"""Calls a program that keeps state again and again, each call a process of its own.

usage: steps.py PROGRAM FOLDER CALL... [-- OPTION...]

A CALL is a JSON object from an input's name to [type, shape, values]. Every call starts from the
state that the one before has written; the options are the first call's. Prints the outputs of each
call and the last state.
"""

import json
import math
import struct
import subprocess
import sys
from pathlib import Path

FORMATS = {"F32": "f", "F64": "d", "I64": "q", "I32": "i", "BOOL": "?"}


def write(path: Path, tensors: dict) -> None:
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        packed = struct.pack(f"<{len(values)}{FORMATS[dtype]}", *values)
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(packed)]}
        data += packed
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def show(path: Path, what: str) -> None:
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    header, data = json.loads(content[8 : 8 + size]), content[8 + size :]
    for name, tensor in sorted(header.items()):
        count = math.prod(tensor["shape"])
        values = struct.unpack_from(f"<{count}{FORMATS[tensor['dtype']]}", data, tensor["data_offsets"][0])
        print(f"{what} {name}: {tensor['dtype']} {tensor['shape']} =", *(f"{value:g}" for value in values))


def main() -> int:
    program, folder = sys.argv[1], Path(sys.argv[2])
    words = sys.argv[3:]
    end = words.index("--") if "--" in words else len(words)
    calls, options = words[:end], words[end + 1 :]
    folder.mkdir(parents=True, exist_ok=True)
    inputs, outputs, state = folder / "in.safetensors", folder / "out.safetensors", folder / "state.safetensors"
    for number, call in enumerate(calls):
        write(inputs, json.loads(call))
        start = ["--state-in", state] if number else options
        subprocess.run([program, "run", "-i", inputs, "-o", outputs, "--state-out", state, *start], check=True)
        show(outputs, f"call {number}")
    show(state, "state")
    return 0


if __name__ == "__main__":
    sys.exit(main())
