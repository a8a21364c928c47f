"""A peer in this process: what worker.py and once.py begin with."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import SimpleNamespace

from harness.isa import GPUS, ISAS

COMPILED = "compiled"  # the folder in the cache in which a peer that trains keeps what it compiles


def load_peer(name: str, checkpoint: str, cache: str, threads: str, isa: str, dtype: str = "float32"):
    """The peer's function from inputs to a function that runs them once. Takes the command line; `dtype` is what it
    computes in, float32 or bfloat16."""
    paths = {"checkpoint": Path(checkpoint), "cache": Path(cache), "compiled": Path(cache) / COMPILED}
    setup = SimpleNamespace(**paths, threads=int(threads), isa=(ISAS | GPUS)[isa], dtype=dtype)
    return importlib.import_module("peers." + name.replace("-", "_")).load(setup)
