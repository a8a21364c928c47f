#!/usr/bin/env python3
"""Processes that train together, here on emulated GPUs: with a GPU each NCCL takes gradients from one to the other, where
that cannot be the host does, and either way losses, norms and weights have the bits of parts on one GPU."""

import argparse
import os
import re
import shutil
import sys
import tempfile
from pathlib import Path

from accumulate import MPI_ENVIRONMENT, MPIRUN, Runs, difference
from harness import GOLDEN, TARGET, Outcome, Report, execute

CASE = GOLDEN / "gpt2-lm"
STEPS = 3
PROCESSES = 3  # of two the order of a sum does not show
MOVED = re.compile(rf"emulated NCCL: rank \d of {PROCESSES}: (\d+) sends, (\d+) gathers")
NOTE = "note: gradients are added up on the host"


class Together(Runs):
    """A program's runs in several processes."""

    said = ""  # on stderr, by the last one

    def environment(self, libraries: Path | None = None, gpus: int = PROCESSES) -> None:
        self.variables = {**MPI_ENVIRONMENT, "EMULATED_DEVICES": str(gpus), "EMULATED_STATISTICS": "1", "EMULATED_NCCL_SECONDS": "30"}
        if libraries:
            self.variables["LD_LIBRARY_PATH"] = str(libraries)

    def execute(self, command: list[object]) -> Outcome:
        done = execute(command, env=self.variables)
        self.said = done.stderr
        return done


def why_not_by_nccl(runs: Together, parts: tuple) -> str | None:
    """Each rank sends its share to the others and gathers sums, once a step."""
    runs.environment()
    if reason := difference(runs.train("nccl", processes=PROCESSES), parts, 0):
        return reason
    moved = [tuple(map(int, found)) for found in MOVED.findall(runs.said)]
    if moved != [((PROCESSES - 1) * STEPS, STEPS)] * PROCESSES:
        return f"sends and gathers of the ranks: {moved}"
    return "says that the host adds up" if NOTE in runs.said else None


def why_not_on_host(runs: Together, parts: tuple, reason: str) -> str | None:
    if found := difference(runs.train("host", processes=PROCESSES), parts, 0):
        return found
    if MOVED.search(runs.said):
        return "by NCCL"
    return None if runs.said.count(NOTE) == 1 and reason in runs.said else f"does not say once {reason!r}: {runs.said[:300]}"


def why_not_without(runs: Together, parts: tuple, folder: Path) -> str | None:
    """What the loader finds first is no library."""
    folder.mkdir()
    emulator = next(Path(place) for place in os.environ["LD_LIBRARY_PATH"].split(":") if (Path(place) / "libcuda.so.1").exists())
    (folder / "libcuda.so.1").symlink_to(emulator / "libcuda.so.1")
    (folder / "libnccl.so.2").touch()
    runs.environment(folder)
    done = runs.execute([runs.program, "info"])
    if "NCCL       libnccl.so.2 cannot be loaded: processes add up gradients on the host" not in done.stdout:
        return f"info: {done.complaint()}"
    return why_not_on_host(runs, parts, "libnccl.so.2 cannot be loaded")


def check(compiler: Path, scratch: Path, report: Report) -> None:
    runs = Together(compiler, CASE, scratch)
    runs.environment()
    done = runs.execute([runs.program, "info"])
    report.add("several GPUs/info", None if "NCCL       2.27.0, for processes with a GPU each" in done.stdout else done.complaint())
    parts = runs.train("parts", "--accumulate", PROCESSES)
    report.add("several GPUs/NCCL", why_not_by_nccl(runs, parts))
    runs.environment(gpus=PROCESSES - 1)
    report.add("several GPUs/one for two processes", why_not_on_host(runs, parts, "processes 0 and 2 have the same GPU"))
    report.add("several GPUs/without NCCL", why_not_without(runs, parts, scratch / "driver"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    options = parser.parse_args()
    if "cuda" not in TARGET:
        parser.error('TRANSFORMER_TEST_TARGET must be "--target cuda --arch ..."')
    if not shutil.which(MPIRUN[0]):
        parser.error("install openmpi-bin")
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(options.compile.resolve(), Path(scratch), report)
        except RuntimeError as error:
            report.add("several GPUs", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
