"""One peer in a process of its own: loads, prepares a shape, times runs when asked.

usage: worker.py PEER CHECKPOINT CACHE THREADS ISA [DTYPE]

Reads a JSON object a line on standard input and answers with one:
  {"inputs": FILE.npz, "outputs": FILE.npy}  ->  {"seconds": of one run}    prepares a shape, warms up
  {"repeat": R}                              ->  {"times_ms": [...]}        runs what was prepared
Failures are answered as {"error": TEXT}.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import numpy as np

WARM_UPS = 2
LONG = 0.3  # seconds; a run this long needs no run before it to fill the caches again


def timed(run) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def prepare(model, request: dict):
    with np.load(request["inputs"]) as file:
        inputs = dict(file)
    run = model(inputs)
    np.save(request["outputs"], np.asarray(run()))
    seconds = timed(run)
    if seconds < LONG:
        seconds = min(timed(run) for _ in range(WARM_UPS))
    return run, seconds


def measure(run, seconds: float, repeat: int) -> list[float]:
    if seconds < LONG:
        for _ in range(WARM_UPS):
            run()
    return [timed(run) * 1e3 for _ in range(repeat)]


def main() -> None:
    # What libraries print must not mix with the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(**values) -> None:
        print(json.dumps(values), file=answers, flush=True)

    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
    from harness.loading import load_peer

    try:
        model = load_peer(*sys.argv[1:])
    except Exception as error:  # whatever a library throws, it is a gap in the table
        return answer(error=f"{type(error).__name__}: {error}")
    answer(ready=True)

    run, seconds = None, 0.0
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if "inputs" in request:
                run = None  # frees the one before
                run, seconds = prepare(model, request)
                answer(seconds=seconds)
            else:
                answer(times_ms=measure(run, seconds, request["repeat"]))
        except Exception as error:
            answer(error=f"{type(error).__name__}: {error}")


main()
