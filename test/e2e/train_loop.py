#!/usr/bin/env python3
"""What surrounds the steps of a training program: rates, logs, signals, full disks, plots, times."""

import argparse
import json
import resource
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import numpy as np
from bad_suite import limit_file_size
from harness import GOLDEN, RUN_SECONDS, Outcome, Report, compile_program, execute
from safetensors.numpy import load_file, save_file

CASE = GOLDEN / "gpt2-lm"
STEPS, ROWS, LENGTH, IDS = 12, 2, 7, 50
ENDLESS = 100_000  # steps: far more than are taken before a signal comes
SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Loop:
    """A training program, data and a folder."""

    def __init__(self, compiler: Path, scratch: Path):
        self.compiler, self.scratch, self.program = compiler, scratch, scratch / "trainer"
        compile_program(compiler, CASE, self.program, "--mode", "train")
        self.data, self.other = scratch / "data.safetensors", scratch / "other.safetensors"
        self.endless = scratch / "endless.safetensors"
        for seed, (path, steps) in enumerate(((self.data, STEPS), (self.other, 3), (self.endless, ENDLESS))):
            ids = np.random.default_rng(seed).integers(0, IDS, (steps, ROWS, LENGTH))
            labels = ids.copy()
            labels[:, 0, :3] = -100
            save_file({"input_ids": ids, "labels": labels}, path)

    def command(self, data: Path, *options: object) -> list[str]:
        return [str(word) for word in (self.program, "train", "-w", CASE, "--data", data, *options)]

    def train(self, *options: object, data: Path | None = None, **others: object) -> Outcome:
        return execute(self.command(data or self.data, *options), **others)

    def good(self, *options: object, data: Path | None = None) -> Outcome:
        done = self.train(*options, data=data)
        expect(done.code == 0, f"exit code {done.code}: {done.complaint()}")
        return done

    def start(self, *options: object) -> subprocess.Popen:
        """On endless data, with the signals as a shell in front has them."""
        return subprocess.Popen(
            self.command(self.endless, *options),
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: [signal.signal(each, signal.SIG_DFL) for each in SIGNALS],
        )


def expect(holds: bool, otherwise: str) -> None:
    if not holds:
        raise RuntimeError(otherwise)


def lines_of(log: Path) -> list[dict]:
    return [json.loads(line) for line in log.read_text().splitlines()]


def wait_for_line(log: Path) -> None:
    end = time.monotonic() + RUN_SECONDS
    while not (log.exists() and log.stat().st_size) and time.monotonic() < end:
        time.sleep(0.001)


def steps_saved(folder: Path) -> int:
    return int(load_file(folder / "training.safetensors")["step"])


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def check_schedule(loop: Loop, folder: Path) -> None:
    """The rate is in the log, changes what is learned, and equal runs give equal logs."""
    options = ("--learning-rate", 0.01, "--schedule", "linear", "--warmup-steps", 2)
    logs = [folder / f"{name}.jsonl" for name in ("one", "two", "constant")]
    for log in logs[:2]:
        loop.good(*options, "--log", log)
    rates = [line["learning_rate"] for line in lines_of(logs[0])]
    expected = [0, 0.005] + [0.01 * left / 10 for left in range(10, 0, -1)]
    expect(np.allclose(rates, expected, rtol=1e-12), f"rates {rates}")
    expect(logs[0].read_bytes() == logs[1].read_bytes(), "equal runs give other logs")
    loop.good("--learning-rate", 0.01, "--log", logs[2])
    losses = [[line["loss"] for line in lines_of(log)] for log in logs[1:]]
    expect(losses[0][1] != losses[1][1], "a first rate of 0 changes nothing")
    for words, options in (
        ("inverse-sqrt: expected --warmup-steps", ("--schedule", "inverse-sqrt")),
        ("--schedule.*step", ("--schedule", "step")),
        ("--eval-every requires --eval-data", ("--eval-every", 3)),
    ):
        done = loop.train(*options)
        expect(done.code == 1 and words.split(".*")[-1] in done.stderr, f"{options}: {done.complaint()}")


def check_signal(loop: Loop, folder: Path, end: signal.Signals) -> None:
    """Saved behind the running step, so that it goes on with the bits of a run that was never stopped."""
    log, saved = folder / "log.jsonl", folder / "saved"
    running = loop.start("--log", log, "--save", saved)
    wait_for_line(log)
    running.send_signal(end)
    complaint = running.communicate(timeout=RUN_SECONDS)[1]
    expect(running.returncode == 128 + end, f"exit code {running.returncode}: {complaint[-300:]}")
    steps = steps_saved(saved)
    words = f"stopped by {end.name} after step {steps} of {ENDLESS}; the same command with --resume {saved} goes on"
    expect(complaint.splitlines()[-1] == words, f"says {complaint.splitlines()[-1]}")
    expect(len(lines_of(log)) == steps, f"{len(lines_of(log))} lines in the log of {steps} steps")
    for name, options in (("whole", ()), ("saved", ("--resume", saved))):
        loop.good("--steps", steps + 3, "--save", folder / name, "--log", log, *options, data=loop.endless)
        bits = (folder / name / "model.safetensors").read_bytes(), log.read_bytes()
        expect(name == "whole" or bits == whole, "a resumed run has other weights or another log than a whole one")
        whole = bits
        if name == "whole":  # the log that the stopped run has left, and two steps that were not saved
            log.write_bytes(b"".join(log.read_bytes().splitlines(keepends=True)[: steps + 2]))


def check_second_signal(loop: Loop, folder: Path) -> None:
    log, saved = folder / "log.jsonl", folder / "saved"
    running = loop.start("--log", log, "--save", saved)
    wait_for_line(log)
    for each in (signal.SIGSTOP, *SIGNALS, signal.SIGCONT):  # both wait when it goes on
        running.send_signal(each)
    running.communicate(timeout=RUN_SECONDS)
    expect(running.returncode == -signal.SIGTERM, f"exit code {running.returncode}")
    expect(not any(saved.iterdir()), f"left {list(saved.iterdir())}")


def check_nothing_saved(loop: Loop, folder: Path) -> None:
    log = folder / "log.jsonl"
    running = loop.start("--log", log)
    wait_for_line(log)
    running.send_signal(signal.SIGINT)
    complaint = running.communicate(timeout=RUN_SECONDS)[1]
    expect(running.returncode == 130, f"exit code {running.returncode}")
    expect("nothing was saved, as there is no --save" in complaint, f"says {complaint[-300:]}")


def check_full_disk(loop: Loop, folder: Path) -> None:
    """Neither the steps nor the last checkpoint are lost, and the end says so."""
    saved, log = folder / "saved", folder / "log.jsonl"
    loop.good("--steps", 4, "--save", saved, "--log", log)
    before = contents(saved)
    options = ("--resume", saved, "--save", saved, "--save-every", 2, "--log", log)
    done = loop.train(*options, preexec_fn=lambda: limit_file_size(10_000))
    warnings = [line for line in done.stderr.splitlines() if line.startswith("warning: ")]
    words = f"{saved}/training.safetensors: cannot write: File too large"
    expected = [f"warning: step {step}: {words}; training goes on" for step in (6, 8, 10)]
    expect(warnings == expected, f"says {done.stderr[:600]}")
    expect(done.code == 1 and done.stderr.splitlines()[-1] == f"error: {words}", f"ends with {done.complaint()}")
    expect(contents(saved) == before, "the checkpoint is not what it was")
    expect(len(lines_of(log)) == STEPS, "a step is missing in the log")


def check_disk_with_room_again(loop: Loop, folder: Path) -> None:
    saved = folder / "saved"

    def limit() -> None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    command = loop.command(loop.endless, "--save", saved, "--save-every", 1)
    running = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=limit)
    first = running.stderr.readline()
    expect(first.startswith("warning: step 1: "), f"says {first}")
    hard = resource.prlimit(running.pid, resource.RLIMIT_FSIZE)[1]
    resource.prlimit(running.pid, resource.RLIMIT_FSIZE, (hard, hard))
    running.terminate()
    running.communicate(timeout=RUN_SECONDS)
    expect(running.returncode == 143, f"exit code {running.returncode}")
    steps = steps_saved(saved)
    loop.good("--steps", steps, "--save", folder / "whole", data=loop.endless)
    same = (saved / "model.safetensors").read_bytes() == (folder / "whole" / "model.safetensors").read_bytes()
    expect(same, f"other weights after step {steps}")


def check_full_log(loop: Loop, folder: Path) -> None:
    """Training and saving go on without it."""
    done = loop.train("--log", "/dev/full", "--save", folder / "saved")
    words = "error: --log /dev/full: cannot write: No space left on device"
    expect(done.code == 1 and done.stderr.splitlines()[-1] == words, f"ends with {done.complaint()}")
    expect(steps_saved(folder / "saved") == STEPS, "steps are missing")


def check_plot(loop: Loop, folder: Path) -> None:
    """Well-formed, with a point a step, of the whole log where a run goes on."""
    saved, log, plot = folder / "saved", folder / "log.jsonl", folder / "plot.svg"
    counts = []
    for options in (("--steps", 4), ("--resume", saved)):
        loop.good(*options, "--save", saved, "--log", log, "--plot", plot)
        root = ElementTree.parse(plot).getroot()
        expect(root.tag == "{http://www.w3.org/2000/svg}svg", f"the root is {root.tag}")
        counts.append(len(root.find("{*}polyline").get("points").split()))
    expect(counts == [4, STEPS], f"{counts} points")
    done = loop.train("--plot", "/nowhere/plot.svg")
    expect(done.code == 1 and "/nowhere" in done.stderr, f"no folder: {done.complaint()}")


def check_evaluation(loop: Loop, folder: Path) -> None:
    """The mean of the losses that steps which learn and drop nothing have; it leaves training alone."""
    log, plain, still = (folder / f"{name}.jsonl" for name in ("log", "plain", "still"))
    plot = folder / "plot.svg"
    options = ("--eval-data", loop.other, "--eval-every", 5)
    loop.good(*options, "--log", log, "--plot", plot, "--save", folder / "saved")
    loop.good("--log", plain)
    evaluations = [line for line in lines_of(log) if "eval_loss" in line]
    expect([line["step"] for line in evaluations] == [5, 10, STEPS], f"evaluations are {evaluations}")
    expect([line for line in lines_of(log) if "loss" in line] == lines_of(plain), "training is another")
    without_dropout = folder / "without-dropout"
    compile_program(loop.compiler, CASE, without_dropout, "--mode", "train", "--dropout", "0")
    command = [without_dropout, "train", "-w", folder / "saved", "--data", loop.other, "--learning-rate", 0]
    expect(execute([*command, "--log", still]).code == 0, "cannot train with a rate of 0")
    mean = np.mean([line["loss"] for line in lines_of(still)])
    expect(abs(evaluations[-1]["eval_loss"] / mean - 1) < 1e-6, f"{evaluations[-1]}, expected {mean}")
    expect(len(ElementTree.parse(plot).getroot().findall("{*}circle")) == 3, "other points in the plot")


def check_bench(loop: Loop, folder: Path) -> None:
    """Whole steps, three times the flops of a forward's products, on a copy of the weights."""
    before = contents(CASE)
    times = {}
    inputs = folder / "in.safetensors"
    save_file({name: value[0] for name, value in load_file(loop.data).items()}, inputs)
    for name, options in (("shape", ("--shape", f"{ROWS}x{LENGTH}")), ("inputs", ("--inputs", inputs))):
        path = folder / f"{name}.json"
        done = execute([loop.program, "bench", "-w", CASE, *options, "--repeat", 3, "--json", path])
        expect(done.code == 0 and "train_step [2, 7], 14 tokens" in done.stdout, f"{name}: {done.stdout} {done.stderr}")
        times[name] = json.loads(path.read_text())
    for found in times.values():
        expect(found["tokens"] == ROWS * LENGTH, f"{found['tokens']} tokens")
        expect(0 < found["min_ms"] <= found["median_ms"] <= found["max_ms"], f"times {found}")
        expect(found["gflops"] > 0 and found["flops"] == times["shape"]["flops"], f"flops {found}")
    expect(contents(CASE) == before, "the checkpoint has changed")
    done = execute([loop.program, "bench", "-w", CASE, "--state-in", inputs])
    expect(done.code == 1 and "--state-in" in done.stderr, f"--state-in: {done.complaint()}")


CHECKS = {
    "schedule": check_schedule,
    "SIGINT": lambda loop, folder: check_signal(loop, folder, signal.SIGINT),
    "SIGTERM": lambda loop, folder: check_signal(loop, folder, signal.SIGTERM),
    "a second signal": check_second_signal,
    "stopped without --save": check_nothing_saved,
    "full disk": check_full_disk,
    "full disk with room again": check_disk_with_room_again,
    "full disk of the log": check_full_log,
    "plot": check_plot,
    "evaluation": check_evaluation,
    "bench": check_bench,
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--only", default="", help="run the tests whose name contains this text")
    arguments = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            loop = Loop(arguments.compile.resolve(), Path(scratch))
        except RuntimeError as error:
            report.add("train loop", str(error))
            return report.finish()
        for name, check in CHECKS.items():
            if arguments.only not in name:
                continue
            reason = None
            with tempfile.TemporaryDirectory(dir=scratch) as folder:
                try:
                    check(loop, Path(folder))
                except (RuntimeError, OSError, KeyError, ValueError, subprocess.SubprocessError) as error:
                    reason = f"{type(error).__name__}: {error}"
            report.add(f"train loop/{name}", reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
