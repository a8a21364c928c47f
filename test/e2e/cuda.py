#!/usr/bin/env python3
"""Programs for a GPU through the driver, here an emulated one: as a module and on newer GPUs, what states and
commands do there, and what is said where there is no driver, another GPU or too little memory."""

import argparse
import ctypes
import os
import sys
import tempfile
from pathlib import Path

from harness import GOLDEN, Outcome, Report, compile_program, execute, why_not_clean_error

sys.path.append(str(GOLDEN))
from compare import compare_files  # noqa: E402

CASE = GOLDEN / "bert-model"
OUTPUT = "out.safetensors"


class Programs:
    """Runs a case's programs beside the emulated driver."""

    def __init__(self, compiler: Path, driver: Path, scratch: Path):
        self.compiler, self.driver, self.scratch = compiler, driver, scratch

    def compile(self, name: str, arch: str, case: Path = CASE) -> Path:
        program = self.scratch / name
        compile_program(self.compiler, case, program, "--target", "cuda", "--arch", arch)
        return program

    def call(self, command: list[object], driver: bool = True, **environment: str) -> Outcome:
        variables = dict(os.environ, **environment)
        variables.pop("LD_LIBRARY_PATH", None)
        if driver:
            variables["LD_LIBRARY_PATH"] = str(self.driver)
        return execute(command, env=variables)

    def run(self, program: list[object], **how: object) -> Outcome:
        output = self.scratch / OUTPUT
        output.unlink(missing_ok=True)
        return self.call([*program, "run", "-w", CASE, "-i", CASE / "inputs.safetensors", "-o", output], **how)

    def why_not_right(self, done: Outcome) -> str | None:
        if done.code != 0:
            return f"exit code {done.code}: {done.complaint()}"
        good, line = compare_files(CASE, self.scratch / OUTPUT, "inputs")
        return None if good else line

    def why_not_refused(self, done: Outcome, *words: str) -> str | None:
        output = self.scratch / OUTPUT
        return why_not_clean_error(done, words) or ("left an output file" if output.exists() else None)


def has_driver() -> bool:
    try:
        ctypes.CDLL("libcuda.so.1")
    except OSError:
        return False
    return True


def why_not_said(done: Outcome, *words: str) -> str | None:
    if done.code != 0:
        return f"exit code {done.code}: {done.complaint()}"
    return next((f"stdout lacks {word!r}: {done.stdout[:300]}" for word in words if word not in done.stdout), None)


def check(programs: Programs, report: Report) -> None:
    older, newer = programs.compile("older", "sm_80"), programs.compile("newer", "sm_90a")
    module = [programs.compiler.parent / "transformer-run", programs.compile("module.so", "sm_80")]
    for name, program, gpu in (("its own GPU", older, "80"), ("a later GPU", older, "90"), ("sm_90a", newer, "90")):
        report.add(f"cuda/{name}", programs.why_not_right(programs.run([program], EMULATED_SM=gpu)))
    report.add("cuda/a module", programs.why_not_right(programs.run(module, EMULATED_SM="80")))
    done = programs.run([older, "--threads", "1"], EMULATED_SM="80")
    report.add("cuda/--threads", programs.why_not_right(done))
    done = programs.call([older, "info"], EMULATED_SM="80")
    report.add("cuda/info", why_not_said(done, "(sm_80) runs it", "target     sm_80 x86-64-v2"))
    done = programs.call([older, "bench", "-w", CASE, "--lengths", "3,5", "--repeat", "1"], EMULATED_SM="80")
    report.add("cuda/bench", why_not_said(done, "8 tokens", "median"))

    done = programs.run([newer], EMULATED_SM="80")
    words = ("compiled for sm_90a, but this GPU .* is sm_80", "--target cpu")
    report.add("cuda/an older GPU", programs.why_not_refused(done, *words))
    done = programs.run([older], EMULATED_MEMORY="0")
    report.add("cuda/no memory", programs.why_not_refused(done, "no memory for weights: .* MiB asked for"))
    if has_driver():
        print("SKIP: programs without a driver: there is one")
        return
    done = programs.run([older], driver=False)
    words = ("no NVIDIA driver: cannot load libcuda.so.1", "--target cpu")
    report.add("cuda/no driver", programs.why_not_refused(done, *words))
    report.add("cuda/info without a driver", why_not_said(programs.call([older, "info"], driver=False), "no NVIDIA driver"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--driver", type=Path, required=True, help="the folder of the emulated libcuda.so.1")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(Programs(options.compile.resolve(), options.driver.resolve(), Path(scratch)), report)
        except RuntimeError as error:
            report.add("cuda", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
