#!/usr/bin/env python3
"""Programs that are stopped while they write, or write the same file at the same time.

Whatever happens, a file that is there is whole, and nothing else is left. Once as the file system here does it
(unnamed files, if it has them), once as on one that has none. With --rounds 200 --kills 200 this takes minutes.
"""

import argparse
import json
import os
import random
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from harness import GOLDEN, RUN_SECONDS, Outcome, Report, compile_program, execute
from safetensors.numpy import save_file

# Large enough that its packed weights (76 MB) take a while to write.
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "hidden_size": 512,
    "num_hidden_layers": 6,
    "num_attention_heads": 8,
    "intermediate_size": 2048,
    "vocab_size": 100,
    "max_position_embeddings": 16,
}
ENDS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
NAMESPACE = ["unshare", "--pid", "--fork", "--kill-child"]


@dataclass
class Setting:
    """A program with weights, a folder to write to, and how files are written there."""

    scratch: Path
    program: Path
    way: str
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> Path:
        return self.scratch / "shared"

    @property
    def packed(self) -> Path:
        return self.folder / "model.packed"

    def command(self, output: Path) -> list[str]:
        inputs = self.scratch / "in.safetensors"
        words = [self.program, "run", "-w", self.scratch, "--packed-weights", self.packed, "-i", inputs, "-o", output]
        return [str(word) for word in words]

    def start(self, command: list[str]) -> subprocess.Popen:
        return subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | self.environment,
            preexec_fn=lambda: [signal.signal(end, signal.SIG_DFL) for end in ENDS],  # scripts in the background ignore one
        )

    def prepare(self, with_older: bool) -> None:
        """An empty folder, or one with packed weights of an older program."""
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir()
        if with_older:
            os.link(self.scratch / "older.packed", self.packed)

    def why_not_clean(self, expected: set[str]) -> str | None:
        """What is wrong with the folder: other files than expected, or packed weights that are not whole."""
        found = {path.name for path in self.folder.iterdir()}
        if found - expected:
            return f"left {', '.join(sorted(found - expected))}"
        if self.packed.exists():
            done = execute([self.program, "info", "--packed-weights", self.packed, "--weights", self.scratch])
            if done.code != 0:
                return done.complaint()
        return None


# --- pairs -------------------------------------------------------------------------------------


def finish(processes: list[subprocess.Popen]) -> str | None:
    """Waits; what went wrong."""
    reasons = []
    for process in processes:
        _, complaint = process.communicate(timeout=RUN_SECONDS)
        if process.returncode != 0:
            reasons.append(f"exit code {process.returncode}: {complaint.strip()}")
    return "; ".join(reasons) or None


def pair_round(setting: Setting, with_older: bool, expected: bytes) -> str | None:
    setting.prepare(with_older)
    outputs = [setting.scratch / f"out{i}.safetensors" for i in (0, 1)]
    reason = finish([setting.start([*NAMESPACE, *setting.command(output)]) for output in outputs])
    if reason is None and any(output.read_bytes() != expected for output in outputs):
        reason = "a wrong result"
    if reason is None and not setting.packed.exists():
        reason = "no packed weights"
    return reason or setting.why_not_clean({"model.packed"})


def check_pairs(setting: Setting, report: Report, rounds: int, expected: bytes) -> None:
    reasons = [pair_round(setting, i % 2 == 1, expected) for i in range(rounds)]
    bad = [reason for reason in reasons if reason]
    name = f"interrupted/{rounds} pairs of processes 1 write one file, {setting.way}"
    report.add(name, f"{len(bad)} times: {bad[0]}" if bad else None)


# --- kills -------------------------------------------------------------------------------------


def is_writing(process: subprocess.Popen, setting: Setting) -> bool:
    """Whether it has a file open in the folder that has no name, or one of its own."""
    try:
        for link in Path(f"/proc/{process.pid}/fd").iterdir():
            target = os.readlink(link)
            if target.startswith(f"{setting.folder}/") and ("(deleted)" in target or "/.transformer-" in target):
                return True
    except OSError:
        pass  # it has ended, or closed the file
    return False


def wait_for_writing(process: subprocess.Popen, setting: Setting) -> None:
    end = time.monotonic() + RUN_SECONDS
    while process.poll() is None and not is_writing(process, setting) and time.monotonic() < end:
        time.sleep(0.0005)


def writing_seconds(setting: Setting) -> float:
    """From the first sight of a file that is being written to its end, the median of some runs."""
    times = []
    for _ in range(5):
        setting.prepare(with_older=False)
        process = setting.start(setting.command(setting.folder / "out.safetensors"))
        wait_for_writing(process, setting)
        start = time.monotonic()
        while process.poll() is None and is_writing(process, setting):
            time.sleep(0.0005)
        times.append(time.monotonic() - start)
        process.communicate(timeout=RUN_SECONDS)
    return statistics.median(times)


def kill_round(setting: Setting, end: signal.Signals, with_older: bool, delay: float) -> tuple[str | None, str]:
    """What went wrong, and where the process was."""
    setting.prepare(with_older)
    process = setting.start(setting.command(setting.folder / "out.safetensors"))
    wait_for_writing(process, setting)
    time.sleep(delay)
    writing = is_writing(process, setting)
    process.send_signal(end)
    _, complaint = process.communicate(timeout=RUN_SECONDS)
    if process.returncode not in (0, -end):
        return f"exit code {process.returncode}, expected {-end}: {complaint.strip()}", "failed"
    where = "ended" if process.returncode == 0 else "writing" if writing else "elsewhere"
    return setting.why_not_clean({"model.packed", "out.safetensors"}), where


def check_kills(setting: Setting, report: Report, kills: int, ends: tuple[signal.Signals, ...]) -> None:
    generator = random.Random(1)
    seconds = writing_seconds(setting)
    places, bad = Counter(), []
    for i in range(kills):
        end = ends[i % len(ends)]
        delay = generator.uniform(0, seconds)
        reason, place = kill_round(setting, end, i // len(ends) % 2 == 1, delay)
        places[place] += 1
        if reason:
            bad.append(f"{end.name} after {delay * 1e3:.1f} ms: {reason}")
    names = ", ".join(end.name for end in ends)
    print(f"{kills} x {names}, {setting.way}, writing takes {seconds * 1e3:.0f} ms: {dict(places)}")
    name = f"interrupted/{kills} times stopped by {names}, {setting.way}"
    report.add(name, f"{len(bad)} times: {bad[0]}" if bad else None)


# --- the compiler ------------------------------------------------------------------------------


def check_compilers(compiler: Path, scratch: Path, report: Report, kills: int) -> None:
    """Two write one output, in namespaces of their own; others are stopped at any moment."""
    folder, temporary = scratch / "programs", scratch / "temporary"
    for path in (folder, temporary):
        path.mkdir()
    setting = Setting(scratch, compiler, "", {"TMPDIR": str(temporary)})
    command = [str(compiler), str(GOLDEN / "bert-model"), "-o", str(folder / "program")]
    for round in range(3):
        start = time.monotonic()
        reason = finish([setting.start([*NAMESPACE, *command]) for _ in (0, 1)])
        seconds = time.monotonic() - start
        done = execute([folder / "program", "info"])
        reason = reason or (done.complaint() if done.code != 0 else None) or left_in(folder, temporary)
        report.add(f"interrupted/two compilers write one program, {round}", reason)
    generator = random.Random(1)
    bad = []
    for i in range(kills):
        end = ENDS[i % len(ENDS)]
        process = setting.start(command)
        time.sleep(generator.uniform(0, seconds))
        process.send_signal(end)
        process.communicate(timeout=RUN_SECONDS)
        if reason := left_in(folder, temporary):
            bad.append(f"{end.name}: {reason}")
    report.add(f"interrupted/{kills} times a compiler stopped", f"{len(bad)} times: {bad[0]}" if bad else None)


def left_in(folder: Path, temporary: Path) -> str | None:
    left = sorted(path.name for path in [*folder.iterdir(), *temporary.iterdir()] if path.name != "program")
    return f"left {', '.join(left)}" if left else None


# --- all ---------------------------------------------------------------------------------------


def make_model(compiler: Path, scratch: Path) -> Path:
    """A program with random weights and inputs, and packed weights that an older program has made."""
    program = scratch / "program"
    for changes in ({"layer_norm_eps": 1e-6}, {}):
        (scratch / "config.json").write_text(json.dumps(CONFIG | changes))
        compile_program(compiler, scratch / "config.json", program)
        if changes:
            generator = np.random.default_rng(1)
            parameters = json.loads(execute([program, "info", "--json"]).stdout)["parameters"]
            weights = {p["name"]: generator.standard_normal(p["shape"], np.float32) * 0.02 for p in parameters}
            save_file(weights, scratch / "model.safetensors")
            save_file({"input_ids": np.arange(8).reshape(1, 8)}, scratch / "in.safetensors")
            packed = scratch / "older.packed"
            done = execute([program, "bench", "-w", scratch, "--packed-weights", packed, "--shape", "1x1"])
            if done.code != 0:
                raise RuntimeError(done.complaint())
    return program


def preloaded(scratch: Path) -> dict[str, str]:
    library = scratch / "no_unnamed_files.so"
    source = Path(__file__).with_name("no_unnamed_files.c")
    compiler = next(name for name in ("clang-22", "cc", "gcc") if shutil.which(name))
    subprocess.run([compiler, "-shared", "-fPIC", source, "-o", library], check=True)
    return {"LD_PRELOAD": str(library)}


def check_unit_tests(compiler: Path, report: Report, environment: dict[str, str]) -> None:
    """Those of the files that the runtime writes, where there are no unnamed ones."""
    tests = compiler.parent.parent / "test/runtime/runtime_tests"
    done: Outcome = execute([tests, "--gtest_filter=AtomicFile.*"], env=os.environ | environment)
    reason = None if done.code == 0 else next(line for line in done.stdout.splitlines() if "FAILED" in line)
    report.add("interrupted/unit tests without unnamed files", reason)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--rounds", type=int, default=8, help="pairs of processes, for each way of writing")
    parser.add_argument("--kills", type=int, default=12, help="processes to stop, for each way of writing")
    arguments = parser.parse_args()
    compiler, report = arguments.compile.resolve(), Report()
    can_isolate = execute([*NAMESPACE, "true"]).code == 0
    if not can_isolate:
        print("SKIP: pairs of processes: PID namespaces cannot be made here")
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder).resolve()
        try:
            program = make_model(compiler, scratch)
            named = preloaded(scratch)
            ways = [
                (Setting(scratch, program, "as here"), (signal.SIGKILL, *ENDS)),
                (Setting(scratch, program, "without unnamed files", named), ENDS),
            ]
            ways[0][0].prepare(with_older=False)
            execute(ways[0][0].command(scratch / "expected.safetensors"))
            expected = (scratch / "expected.safetensors").read_bytes()
            for setting, ends in ways:
                if can_isolate:
                    check_pairs(setting, report, arguments.rounds, expected)
                check_kills(setting, report, arguments.kills, ends)
            if can_isolate:
                check_compilers(compiler, scratch, report, arguments.kills)
            check_unit_tests(compiler, report, named)
        except (RuntimeError, OSError, subprocess.SubprocessError) as error:
            report.add("interrupted", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
