"""From the start of a process to its written result, and the memory it takes. All files are warm."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from harness.checkpoints import Encoder, checkpoint, model_cache
from harness.measure import Options, note
from harness.processes import Failure, Ours, compile_program, environment, pinned
from harness.shapes import Arrays, lengths_of, make_inputs

ONCE = Path(__file__).with_name("once.py")
PACKED = f"{Ours.name}, packed weights"


def run_once(command: list, environment: dict[str, str]) -> tuple[float, float]:
    """Milliseconds from start to end of a process, and its largest resident memory in MiB."""
    with tempfile.TemporaryFile() as errors:
        start = time.perf_counter()
        process = subprocess.Popen(command, env=environment, stdout=errors, stderr=errors)
        _, status, usage = os.wait4(process.pid, 0)
        elapsed = (time.perf_counter() - start) * 1e3
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            errors.seek(0)
            said = " ".join(errors.read().decode(errors="replace").split())
            raise Failure(said[-300:] or f"exit status {process.returncode}")
    return elapsed, usage.ru_maxrss / 1024


def our_commands(program: Path, weights: Path, threads: int, folder: Path) -> tuple[dict[str, list], dict[str, str]]:
    """Command lines of our program by name, and gaps."""
    files = ["--inputs", folder / "inputs.safetensors", "--outputs", folder / "outputs.safetensors"]
    plain = [program, "run", "--weights", weights, *files, "--threads", threads]
    options = subprocess.run([program, "run", "--help"], capture_output=True, text=True).stdout
    if "--packed-weights" not in options:
        return {Ours.name: plain}, {PACKED: "this program has no option --packed-weights"}
    file = folder / f"{program.name}.packed"
    file.unlink(missing_ok=True)  # perhaps of another version; the run that warms up writes it anew
    packed = [*plain, "--packed-weights", file]
    return {Ours.name: plain, PACKED: packed}, {}


def peer_command(name: str, folder: Path, cache: Path, threads: int, options: Options) -> list:
    files = [cache / "inputs.npz", cache / f"{name}.npy"]
    return [sys.executable, ONCE, name, folder, cache, threads, options.isa.name, *files]


def save_inputs(inputs: Arrays, cache: Path) -> None:
    from safetensors.numpy import save_file

    save_file(inputs, cache / "inputs.safetensors")
    np.savez(cache / "inputs.npz", **inputs)


def measure_shape(commands: dict[str, list], threads: int, cache: Path, options: Options) -> dict:
    """Medians over alternating rounds, after one run of each that warms the files."""
    rounds: dict[str, list[tuple[float, float]]] = {name: [] for name in commands}
    gaps: dict[str, str] = {}
    for number in range(options.rounds + 1):
        for name, command in commands.items():
            if name in gaps:
                continue
            peer = {} if name in (Ours.name, PACKED) else options.isa.environment(cache)
            try:
                found = run_once(pinned(threads, command), environment(threads) | peer)
            except Failure as failure:
                gaps[name] = str(failure)
                continue
            if number:
                rounds[name].append(found)
    kept = {name: values for name, values in rounds.items() if values and name not in gaps}
    medians = {name: [statistics.median(column) for column in zip(*values)] for name, values in kept.items()}
    return {
        "ms": {name: ms for name, (ms, _) in medians.items()},
        "mib": {name: mib for name, (_, mib) in medians.items()},
        "gaps": gaps,
    }


def measure_start(run: dict, all_threads: list[int], options: Options) -> dict:
    """`run`: a run file with "start", its shapes."""
    folder, cache = checkpoint(run["model"], options.cache), model_cache(run["model"], options.cache)
    program, weights = cache / options.isa.file_name("program"), folder / "model.safetensors"
    seconds = []
    for _ in range(options.rounds):
        begin = time.perf_counter()
        compile_program(options.compiler, folder, program, options.isa)
        seconds.append(time.perf_counter() - begin)
    result = {"model": run["model"], "isa": options.isa.name, "rows": []}
    result |= {"compile_seconds": statistics.median(seconds), "program_bytes": program.stat().st_size}
    vocabulary = Encoder.of(folder).vocabulary
    for threads in all_threads:
        commands, gaps = our_commands(program, weights, threads, cache)
        commands |= {name: peer_command(name, folder, cache, threads, options) for name in run["peers"]}
        for shape, sizes in run["start"].items():
            save_inputs(make_inputs(lengths_of(sizes), vocabulary), cache)
            row = {"shape": shape, "threads": threads} | measure_shape(commands, threads, cache, options)
            row["gaps"] |= gaps
            result["rows"].append(row)
            times = ", ".join(f"{name} {ms:.0f} ms" for name, ms in row["ms"].items())
            note(f"start of {run['model']}, {shape}, {threads} threads: {times}")
    return result
