#!/usr/bin/env python3
"""Compiles every golden case for a GPU and loads the PTX: the emulator knows every instruction in it.

A module that has an instruction more than the emulator is refused when it is loaded, with the kernel and the line.
"""

import argparse
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "e2e"))
from harness import GOLDEN, Report, compile_program, execute  # noqa: E402


def check(compiler: Path, loader: Path, case: Path, arch: str, folder: Path) -> str | None:
    """What is wrong with a case, or None."""
    ptx = folder / f"{case.name}.{arch}.ptx"
    try:
        compile_program(compiler, case, ptx, "--target", "cuda", "--arch", arch, "--emit", "ptx")
    except RuntimeError as error:
        return str(error)
    done = execute([loader, ptx])
    return None if done.code == 0 else done.complaint()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--load", type=Path, required=True, help="load_ptx")
    parser.add_argument("--arch", nargs="+", default=["sm_80"])
    parser.add_argument("cases", nargs="*", help="names of golden cases (default: all)")
    options = parser.parse_args()
    cases = [GOLDEN / name for name in options.cases] or sorted(path.parent for path in GOLDEN.glob("*/config.json"))
    report = Report()
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor() as pool:
        jobs = [(case, arch) for case in cases for arch in options.arch]
        run = lambda job: check(options.compile.resolve(), options.load.resolve(), *job, Path(folder))  # noqa: E731
        for (case, arch), reason in zip(jobs, pool.map(run, jobs)):
            report.add(f"{case.name} {arch}", reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
