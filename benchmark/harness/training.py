"""Steps of training: the milliseconds of one, the time from nothing to the end of the first, and the memory.

Everyone first gives the loss without dropout, in which peers must agree with us.
"""

from __future__ import annotations

import json
import shutil
import statistics
from functools import partial
from pathlib import Path

import numpy as np

from harness.checkpoints import checkpoint, model_cache
from harness.loading import COMPILED
from harness.measure import Options, add_ratio, contestants_of, note, rounds_of
from harness.processes import Failure, Ours, Peer, compile_program, environment, pinned
from harness.shapes import Arrays, make_batch, token_count
from harness.start import peer_command, run_once

# Largest difference of a peer's loss from ours, relative to it; in bfloat16, which peers also store.
AGREEMENT, MIXED_AGREEMENT = 1e-4, 1e-2


class OurTrainer:
    """A compiled program: a fresh process a round."""

    def __init__(self, folder: Path, cache: Path, threads: int, options: Options, mixed: bool) -> None:
        name = "trainer-bf16" if mixed else "trainer"
        self.program, self.folder, self.threads = cache / options.isa.file_name(name), folder, threads
        precision = ("--mixed-precision", "bf16") if mixed else ()
        compile_program(options.compiler, folder, self.program, options.isa, "--mode", "train", *precision)
        self.batch, self.data, self.answer = (cache / name for name in ("batch.safetensors", "data.safetensors", "answer.json"))
        self.mib: list[float] = []

    def set_batch(self, batch: Arrays) -> None:
        from safetensors.numpy import save_file

        save_file(batch, self.batch)
        save_file({name: value[None] for name, value in batch.items()}, self.data)  # of one step

    def run(self, subcommand: str, *options: object) -> tuple[float, float]:
        """Milliseconds and memory of the whole process."""
        command = [self.program, subcommand, "--weights", self.folder, "--threads", self.threads, *options]
        return run_once(pinned(self.threads, command), environment(self.threads))

    def loss(self) -> float:
        """A step at a rate of 0 leaves the weights as they are; what is evaluated behind it has no dropout."""
        self.run("train", "--data", self.data, "--learning-rate", 0, "--eval-data", self.data, "--log", self.answer)
        return json.loads(self.answer.read_text().splitlines()[-1])["eval_loss"]

    def first_ms(self) -> float:
        ms, mib = self.run("train", "--data", self.data)
        self.mib.append(mib)
        return ms

    def start(self) -> None:
        pass

    def median_ms(self, repeat: int) -> float:
        _, mib = self.run("bench", "--inputs", self.batch, "--repeat", repeat, "--json", self.answer)
        self.mib.append(mib)
        return json.loads(self.answer.read_text())["median_ms"]

    def peak_mib(self) -> float:
        return max(self.mib)

    def close(self) -> None:
        pass


class PeerTrainer:
    """Processes for the loss and the first step, and a worker for all others."""

    def __init__(self, name: str, folder: Path, cache: Path, threads: int, options: Options, mixed: bool) -> None:
        self.name, self.cache, self.mixed = f"{name}-trainer", cache, np.bool_(mixed)
        self.environment = environment(threads) | options.isa.environment(cache)
        self.once = pinned(threads, peer_command(self.name, folder, cache, threads, options))
        self.make_worker = partial(Peer, self.name, folder, cache, threads, options.isa)
        self.worker: Peer | None = None

    def set_batch(self, batch: Arrays) -> None:
        self.batch = batch

    def run(self, *, learns: bool) -> tuple[float, float]:
        """Milliseconds and memory of the whole process."""
        np.savez(self.cache / "inputs.npz", learns=np.bool_(learns), mixed=self.mixed, **self.batch)
        return run_once(self.once, self.environment)

    def loss(self) -> float:
        self.run(learns=False)
        return float(np.load(self.cache / f"{self.name}.npy"))

    def first_ms(self) -> float:
        shutil.rmtree(self.cache / COMPILED, ignore_errors=True)  # a first step contains compiling it
        ms, self.first_mib = self.run(learns=True)
        return ms

    def start(self) -> None:
        self.worker = self.make_worker()
        self.worker.prepare(self.batch | {"learns": np.bool_(True), "mixed": self.mixed})

    def median_ms(self, repeat: int) -> float:
        return self.worker.median_ms(repeat)

    def peak_mib(self) -> float:
        return max(self.first_mib, self.worker.peak_mib())

    def close(self) -> None:
        if self.worker:
            self.worker.close()


def is_mixed(run: dict) -> bool:
    return run.get("mixed_precision") == "bf16"


def makers(run: dict, threads: int, options: Options) -> dict:
    mixed = is_mixed(run)
    folder, cache = checkpoint(run["model"], options.cache), model_cache(run["model"], options.cache)
    peers = {name: partial(PeerTrainer, name, folder, cache, threads, options, mixed) for name in run["peers"]}
    return {Ours.name: partial(OurTrainer, folder, cache, threads, options, mixed)} | peers


def measure_batch(trainers: dict, batch: Arrays, agreement: float, options: Options, gaps: dict[str, str]) -> dict:
    losses: dict[str, float] = {}
    difference: dict[str, float] = {}
    first: dict[str, float] = {}

    def prepare(name: str, trainer) -> None:
        trainer.set_batch(batch)
        losses[name] = trainer.loss()
        if losses[name] is None:
            raise Failure("its loss without dropout is no number")
        if name != Ours.name and Ours.name in losses:
            difference[name] = abs(losses[name] / losses[Ours.name] - 1)
            if not difference[name] <= agreement:
                raise Failure(f"its loss without dropout differs from ours by {difference[name]:.2g} of it")
        first[name] = trainer.first_ms()
        trainer.start()

    rounds = rounds_of(trainers, prepare, options, gaps)
    return {
        "median_ms": {name: statistics.median(times) for name, times in rounds.items()},
        "rounds_ms": rounds,
        "first_ms": {name: first[name] for name in rounds},
        "mib": {name: trainers[name].peak_mib() for name in rounds},
        "loss": losses,
        "difference": difference,
        "gaps": gaps,
    }


def measure_training(run: dict, all_threads: list[int], options: Options) -> list[dict]:
    """`run`: a run file with "train", the batches of its steps."""
    config = json.loads((checkpoint(run["model"], options.cache) / "config.json").read_text())
    agreement, rows = MIXED_AGREEMENT if is_mixed(run) else AGREEMENT, []
    for threads in all_threads:
        for name, shape in run["train"].items():
            batch, gaps = make_batch(shape, config), {}
            label = f"{name}, bf16" if is_mixed(run) else name
            row = {"model": run["model"], "isa": options.isa.name, "threads": threads, "shape": label}
            title = f"training of {run['model']}, {label}, {threads} threads"
            with contestants_of(makers(run, threads, options), title, gaps) as trainers:
                row |= {"tokens": token_count(batch)} | measure_batch(trainers, batch, agreement, options, gaps)
            add_ratio(row)
            rows.append(row)
            note(f"{title}: " + ", ".join(f"{who} {ms:.0f} ms" for who, ms in row["median_ms"].items()))
    return rows
