"""Processes pinned to the first N cores: a peer's worker, and our own program."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from harness.isa import Isa
from harness.shapes import Arrays

WORKER = Path(__file__).with_name("worker.py")
PATIENCE = 600  # seconds for one answer: loading, or compiling a shape


class Failure(Exception):
    """Why something has no figure."""


def pinned(threads: int, command: list) -> list[str]:
    return ["taskset", "-c", f"0-{threads - 1}", *map(str, command)]


def environment(threads: int) -> dict[str, str]:
    return os.environ | {"OMP_NUM_THREADS": str(threads), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}


def run_json(threads: int, command: list) -> dict:
    """Runs to the end and reads the object on standard output."""
    result = subprocess.run(pinned(threads, command), capture_output=True, text=True, env=environment(threads))
    if result.returncode:
        raise Failure(result.stderr.strip()[-300:] or f"exit status {result.returncode}")
    return json.loads(result.stdout)


class Peer:
    """A worker process, stopped (SIGSTOP) whenever it is not asked anything."""

    def __init__(self, name: str, checkpoint: Path, cache: Path, threads: int, isa: Isa, dtype: str = "float32") -> None:
        self.name = name
        self.files = cache
        with open(cache / f"{name}.log", "w") as errors:
            self.process = subprocess.Popen(
                pinned(threads, [sys.executable, WORKER, name, checkpoint, cache, threads, isa.name, dtype]),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env=environment(threads) | isa.environment(cache),
            )
        self.buffer = b""
        try:
            self.answer()
        except Failure:
            self.close()
            raise
        self.process.send_signal(signal.SIGSTOP)

    def answer(self) -> dict:
        deadline = time.monotonic() + PATIENCE
        while b"\n" not in self.buffer:
            if not select.select([self.process.stdout], [], [], max(0, deadline - time.monotonic()))[0]:
                raise Failure(f"no answer in {PATIENCE} s")
            data = os.read(self.process.stdout.fileno(), 65536)
            if not data:
                raise Failure(f"the process ended with status {self.process.wait()}")
            self.buffer += data
        line, self.buffer = self.buffer.split(b"\n", 1)
        values = json.loads(line)
        if "error" in values:
            raise Failure(" ".join(values["error"].split())[:300])
        return values

    def ask(self, **request) -> dict:
        self.process.send_signal(signal.SIGCONT)
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            return self.answer()
        except BrokenPipeError:
            raise Failure("the process has ended") from None
        finally:
            if self.process.poll() is None:
                self.process.send_signal(signal.SIGSTOP)

    def prepare(self, inputs: Arrays) -> tuple[float, np.ndarray]:
        """Seconds of one run, and the result."""
        source, target = self.files / "inputs.npz", self.files / f"{self.name}.npy"
        np.savez(source, **inputs)
        seconds = self.ask(inputs=str(source), outputs=str(target))["seconds"]
        return seconds, np.load(target)

    def median_ms(self, repeat: int) -> float:
        return float(np.median(self.ask(repeat=repeat)["times_ms"]))

    def peak_mib(self) -> float:
        """The largest resident memory that it has had."""
        status = Path(f"/proc/{self.process.pid}/status").read_text()
        (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
        return int(line.split()[1]) / 1024

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()


class Ours:
    """Our compiled program: a fresh process a round. Two runs to warm up are its own."""

    name = "transformer-mlir"

    def __init__(self, program: Path, weights: Path, threads: int, folder: Path) -> None:
        self.program, self.weights, self.threads, self.folder = program, weights, threads, folder

    def prepare(self, inputs: Arrays) -> tuple[float, np.ndarray]:
        from safetensors.numpy import load_file, save_file

        self.inputs = self.folder / "inputs.safetensors"
        outputs = self.folder / "outputs.safetensors"
        save_file(inputs, self.inputs)
        command = self.command("run", "--outputs", outputs)
        result = subprocess.run(pinned(self.threads, command), capture_output=True, text=True)
        if result.returncode:
            raise Failure(result.stderr.strip()[-300:])
        return self.median_ms(1) / 1e3, load_file(outputs)["last_hidden_state"]

    def median_ms(self, repeat: int) -> float:
        return run_json(self.threads, self.command("bench", "--repeat", repeat, "--json"))["median_ms"]

    def command(self, name: str, *options) -> list:
        given = ["--weights", self.weights, "--inputs", self.inputs, "--threads", self.threads]
        return [self.program, name, *given, *options]

    def close(self) -> None:
        pass


def compile_program(compiler: Path, source: Path, program: Path, isa: Isa, *options: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    command = [compiler, source, "-o", program, "--arch", isa.arch, *isa.options, *options]
    result = subprocess.run(command, capture_output=True, text=True)
    if result.returncode:
        raise Failure(f"transformer-compile {source.name}: {result.stderr.strip()[-300:]}")
