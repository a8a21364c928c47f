"""What Hugging Face's transformers answered: recorded in a file, or asked now.

A file of answers is made with --record and used without --live, so that a test needs neither PyTorch
nor transformers.
"""

import argparse
import json
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np

JSON = "json"  # the array that holds all answers that are not arrays


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--live", action="store_true", help="ask the installed transformers, not what is recorded")
    parser.add_argument("--record", action="store_true", help="and record its answers")


class Answers:
    """Answers by a name and a checksum of what was asked."""

    def __init__(self, path: Path, live: bool = False, record: bool = False) -> None:
        self.path, self.live, self.record = path, live or record, record
        self.arrays: dict[str, np.ndarray] = {}
        self.others: dict[str, object] = {}
        if path.exists() and not self.live:
            with np.load(path) as stored:
                self.arrays = {name: stored[name] for name in stored.files if name != JSON}
                self.others = json.loads(stored[JSON].tobytes())

    def get(self, name: str, asked: object, compute: Callable[[], object]) -> object:
        """The answer, JSON or an array of numbers; `asked` is JSON."""
        key = f"{name} {zlib.crc32(json.dumps(asked).encode()):08x}"
        if self.live:
            answer = compute()
            (self.arrays if isinstance(answer, np.ndarray) else self.others)[key] = answer
            return answer
        if key not in self.arrays and key not in self.others:
            raise SystemExit(f"{self.path}: no answer for {key}; record it with --record")
        return self.arrays[key] if key in self.arrays else self.others[key]

    def save(self) -> None:
        if self.record:
            text = np.frombuffer(json.dumps(self.others, separators=(",", ":")).encode(), np.uint8)
            np.savez_compressed(self.path, **{JSON: text}, **self.arrays)
