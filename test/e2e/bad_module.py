"""Damaged modules and programs: truncated, with an edited description, with numbers that lead elsewhere."""

import os
import random
import struct
from pathlib import Path

from bad_suite import Suite
from harness import compile_program, execute, why_not_clean_error

# What the description has in it, and the magic of the exported struct that points to it.
DESCRIPTION, MAGIC = b'"producer":"transformer-compile', b"TRMR"
VERSION = 5
# Behind the magic: version, then the pointer; offsets of the numbers.
NUMBERS = {"description_size": 16, "tokenizer_size": 24, "description_hash": 32, "num_functions": 48}
EDITS = 20  # a file


class Modules:
    """A module (.so) and a program, and what runs them."""

    def __init__(self, suite: Suite):
        self.suite = suite
        module = suite.scratch / "module.so"
        compile_program(suite.compiler, suite.case, module)
        self.files = {"module": module, "program": suite.program}
        self.runner = suite.compiler.parent / "transformer-run"

    def run(self, kind: str, content: bytes, folder: Path) -> tuple[Path, object]:
        damaged = folder / f"damaged-{kind}"
        damaged.write_bytes(content)
        damaged.chmod(0o755)
        inputs = self.suite.write_inputs(folder, self.suite.good_inputs())
        start = [self.runner, damaged] if kind == "module" else [damaged]
        command = [*start, "run", "-w", self.suite.weights, "-i", inputs, "-o", folder / "out" / "out.safetensors"]
        return damaged, execute(command)

    def check(self, name: str, kind: str, content: bytes, *words: str) -> None:
        if self.suite.wanted(name):
            folder = self.suite.folder()
            damaged, done = self.run(kind, content, folder)
            self.suite.expect_error(name, done, (damaged.name, *words), folder)


def check_truncated(modules: Modules) -> None:
    content = modules.files["module"].read_bytes()
    for part in range(1, 16):
        modules.check(f"module/truncated to {part}/16", "module", content[: len(content) * part // 16], "truncated")
    for size in (0, 3, 63):
        modules.check(f"module/truncated to {size} bytes", "module", content[:size], "expected an ELF file")
    modules.check("module/truncated by one byte", "module", content[:-1], "truncated")
    if modules.suite.wanted("module/a pipe"):
        folder = modules.suite.folder()
        os.mkfifo(folder / "pipe.so")
        done = execute([modules.runner, folder / "pipe.so", "info"])
        modules.suite.expect_error("module/a pipe", done, (r"pipe\.so", "no such file"), folder)


def check_edited(modules: Modules) -> None:
    """Numbers of the description, one digit changed in each."""
    generator = random.Random(1)
    for kind, file in modules.files.items():
        content = file.read_bytes()
        inside = content.index(DESCRIPTION)
        begin, end = content.rindex(b"\0", 0, inside) + 1, content.index(b"\0", inside)
        digits = [i for i in range(begin, end) if content[i : i + 1].isdigit()]
        for place in generator.sample(digits, EDITS):
            other = generator.choice([digit for digit in b"0123456789" if digit != content[place]])
            name = f"{kind}/description, byte {place - begin} {content[place] - 48} to {other - 48}"
            edited = content[:place] + bytes([other]) + content[place + 1 :]
            modules.check(name, kind, edited, "damaged|description")


def check_numbers(modules: Modules) -> None:
    """Numbers of the struct that the module exports."""
    for kind, file in modules.files.items():
        content = file.read_bytes()
        struct_at = content.index(MAGIC + struct.pack("<I", VERSION))
        for field, offset in NUMBERS.items():
            for value in (1, 2**31, 2**63, 2**64 - 1):
                at = struct_at + offset
                edited = content[:at] + struct.pack("<Q", value) + content[at + 8 :]
                modules.check(f"{kind}/{field} {value}", kind, edited, "damaged|description")
        older = content[: struct_at + 4] + struct.pack("<I", VERSION - 1) + content[struct_at + 8 :]
        modules.check(f"{kind}/older version", kind, older, f"ABI version {VERSION - 1}", "compile it again")


def check_modules(suite: Suite) -> None:
    modules = Modules(suite)
    check_truncated(modules)
    check_edited(modules)
    check_numbers(modules)


CHECKS = (check_modules,)
