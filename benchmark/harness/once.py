"""One peer from nothing to its first result, as a program would use it: what start.py times.

usage: once.py PEER CHECKPOINT CACHE THREADS ISA INPUTS.npz OUTPUTS.npy
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
from harness.loading import load_peer  # noqa: E402


def main() -> None:
    *peer, inputs, outputs = sys.argv[1:]
    model = load_peer(*peer)
    with np.load(inputs) as file:
        run = model(dict(file))
    np.save(outputs, np.asarray(run()))


main()
