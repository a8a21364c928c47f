#!/usr/bin/env python3
"""Programs on CPUs other than this one, under qemu: each is right, or says what it lacks and stops.

Compiles a golden case for every x86-64 level and runs it on CPUs of every level; a program that needs
more must end with a clear error, never with an illegal instruction. With --aarch64, too: a module
for one architecture is refused by name on another, and programs for AArch64 run. Needs qemu-user,
numpy and safetensors, for --aarch64 also the build's target aarch64-runtime.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from harness import GOLDEN, Outcome, Report, compile_program, execute, why_not_clean_error

sys.path.append(str(GOLDEN))
from compare import compare_files  # noqa: E402

CASE = GOLDEN / "bert-model"
FILES = ["--weights", CASE, "--inputs", CASE / "inputs.safetensors", "--outputs"]
LEVELS = ("x86-64", "x86-64-v2", "x86-64-v3", "x86-64-v4")
# CPUs as qemu calls them, and the level that each has. qemu has no AVX-512.
CPUS = {"qemu64": "x86-64", "Nehalem": "x86-64-v2", "Haswell": "x86-64-v3"}
# A feature that comes with a level.
ADDED = {"x86-64-v2": "sse4.2", "x86-64-v3": "avx2", "x86-64-v4": "avx512f"}
AARCH64 = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"]


def on_cpu(cpu: str, *command: object) -> Outcome:
    """Runs a command on one of CPUS, without what qemu itself says: it lacks other features of Haswell."""
    done = execute(["qemu-x86_64", "-cpu", cpu, *command])
    lines = [line for line in done.stderr.splitlines() if not line.startswith("qemu-x86_64: warning: TCG doesn't support")]
    done.stderr = "\n".join(lines)
    return done


def why_not_right(done: Outcome, output: Path) -> str | None:
    if done.code != 0:
        return f"exit code {done.code}: {done.complaint()}"
    good, line = compare_files(CASE, output, "inputs")
    return None if good else line


def why_not_refused(done: Outcome, output: Path, *words: str) -> str | None:
    return why_not_clean_error(done, words) or ("left an output file" if output.exists() else None)


def check_levels(compiler: Path, scratch: Path, report: Report) -> None:
    output = scratch / "out.safetensors"
    for level in LEVELS:
        program = scratch / level
        compile_program(compiler, CASE, program, "--arch", level)
        for cpu, has in CPUS.items():
            output.unlink(missing_ok=True)
            done = on_cpu(cpu, program, "run", *FILES, output)
            if LEVELS.index(level) <= LEVELS.index(has):
                report.add(f"cpus/{level} runs on {cpu}", why_not_right(done, output))
            else:
                words = (f"compiled for {level},", f"lacks: .*{ADDED[level]}", f"--arch {has}$")
                report.add(f"cpus/{level} is refused by {cpu}", why_not_refused(done, output, *words))


def check_architectures(compiler: Path, scratch: Path, report: Report) -> None:
    tools = compiler.parent
    there = tools.parent / "runtime/aarch64/transformer-run"
    runners = {"x86-64": [tools / "transformer-run"], "aarch64": [*AARCH64, there]}
    output = scratch / "out.safetensors"
    for arch in runners:
        module = scratch / f"{arch}.so"
        compile_program(compiler, CASE, module, "--arch", arch)
        for machine, runner in runners.items():
            output.unlink(missing_ok=True)
            done = execute([*runner, module, "run", *FILES, output])
            if arch == machine:
                report.add(f"cpus/module for {arch} runs", why_not_right(done, output))
            else:
                words = (rf"{arch}\.so: ", f"expected {machine}, found {arch}$", f"--arch {machine}$")
                report.add(f"cpus/module for {arch} is refused by {machine}", why_not_refused(done, output, *words))
    whole = scratch / "whole"
    compile_program(compiler, CASE, whole, "--arch", "aarch64", "--embed-weights")
    output.unlink(missing_ok=True)
    done = execute([*AARCH64, whole, "run", *FILES[2:], output])
    report.add("cpus/aarch64 with its weights inside", why_not_right(done, output))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--aarch64", action="store_true", help="check AArch64, too")
    arguments = parser.parse_args()
    report, compiler = Report(), arguments.compile.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check_levels(compiler, Path(scratch), report)
            if arguments.aarch64:
                check_architectures(compiler, Path(scratch), report)
        except RuntimeError as error:
            report.add("cpus", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
