#!/usr/bin/env python3
"""Compiles every golden case, runs all its input sets, and compares the outputs with the expectations.

Needs numpy and safetensors; with --live also torch and transformers, which then recompute the
expectations and the float32 errors.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock

from compare import compare, compare_files
from safetensors.numpy import load_file

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "e2e"))
from harness import compile_program, one_of_each_family  # noqa: E402

HERE = Path(__file__).resolve().parent
RUN_SECONDS = 60
LOADING = Lock()  # loading sets PyTorch's default type, for the whole process


class Failure(Exception):
    """Why a case failed, in one line."""


def call(what: str, command: list[str | Path], seconds: float) -> None:
    """Runs a command that must succeed silently enough: Failure holds the first line of its complaint."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=seconds)
    except subprocess.TimeoutExpired:
        raise Failure(f"{what}: no end after {seconds} s") from None
    except OSError as error:
        raise Failure(f"{what}: {error}") from None
    if done.returncode != 0:
        complaint = (done.stderr.strip() or done.stdout.strip() or "no message").splitlines()[0]
        raise Failure(f"{what}: exit code {done.returncode}: {complaint}")


def input_sets(case: Path) -> list[str]:
    return sorted(file.stem for file in case.glob("inputs*.safetensors"))


def check_output(case: Path, set_name: str, output: Path, reference: object | None) -> tuple[bool, str]:
    if reference is None:
        return compare_files(case, output, set_name)
    inputs = load_file(case / f"{set_name}.safetensors")
    expected, errors = reference.expected(inputs)
    return compare(reference.config, inputs, load_file(output), expected, errors)


def live_reference(case: Path) -> object:
    """The installed PyTorch's view of a case."""
    from reference import Reference

    with LOADING:
        return Reference(case, json.loads((case / "config.json").read_text()))


def check_case(case: Path, compiler: Path, target: list[str], launcher: list[str], work: Path, live: bool) -> None:
    """Compiles and runs; raises Failure at the first thing that is wrong."""
    work.mkdir(parents=True, exist_ok=True)
    program = work / "program"
    program.unlink(missing_ok=True)
    try:
        compile_program(compiler, case, program, *target, verify_each=True)
    except RuntimeError as error:
        raise Failure(str(error)) from None
    reference = live_reference(case) if live else None
    for set_name in input_sets(case):
        output = work / f"{set_name}.out.safetensors"
        output.unlink(missing_ok=True)
        inputs = case / f"{set_name}.safetensors"
        weights = case / "model.safetensors"
        command = [*launcher, program, "run", "--weights", weights, "--inputs", inputs, "--outputs", output]
        call(f"run {set_name}", command, RUN_SECONDS)
        if not output.exists():
            raise Failure(f"run {set_name}: wrote no outputs")
        good, line = check_output(case, set_name, output, reference)
        if not good:
            raise Failure(f"{set_name}: {line}")


def report(case: Path, compiler: Path, target: list[str], *how: object) -> bool:
    try:
        check_case(case, compiler, target, *how)
    except Failure as failure:
        print(f"FAIL: golden/{case.name}: {failure}", flush=True)
        return False
    print(f"PASS: golden/{case.name}", flush=True)
    return True


def find_cases(names: list[str], parser: argparse.ArgumentParser) -> list[Path]:
    cases = {file.parent.name: file.parent for file in sorted(HERE.glob("*/bounds.json"))}
    unknown = [name for name in names if name not in cases]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    return [cases[name] for name in names or cases]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="names of the cases to check (default: all)")
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--families", action="store_true", help="of these cases one of each model type")
    parser.add_argument("--arch", default="native", help="compile for this CPU (default: native) or GPU")
    parser.add_argument("--target", default="cpu", help="compile for this kind of machine (default: cpu)")
    parser.add_argument("--launcher", default="", help="run programs with this, for example an emulator and its options")
    parser.add_argument("--work", type=Path, help="directory to keep programs and outputs in (default: a temporary)")
    parser.add_argument("--live", action="store_true", help="recompute the expectations with the installed PyTorch")
    jobs = int(os.environ.get("TRANSFORMER_TEST_JOBS", 2))
    parser.add_argument("--jobs", type=int, default=jobs, help="cases at a time (default: TRANSFORMER_TEST_JOBS, or 2)")
    arguments = parser.parse_args()
    cases = find_cases(arguments.cases, parser)
    if arguments.families:
        cases = one_of_each_family(cases)
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(arguments.jobs) as pool:
        work = arguments.work or Path(scratch)
        target = ["--arch", arguments.arch] + ["--target", arguments.target] * (arguments.target != "cpu")
        compiler, launcher = arguments.compile.resolve(), shlex.split(arguments.launcher)
        good = list(pool.map(lambda case: report(case, compiler, target, launcher, work / case.name, arguments.live), cases))
    print(f"{good.count(True)} passed, {good.count(False)} failed")
    return 0 if all(good) and good else 1


if __name__ == "__main__":
    sys.exit(main())
