"""Sources that an encoder-decoder answers, all at once: the milliseconds of everything, greedy or with beams."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import numpy as np

from harness.checkpoints import checkpoint, model_cache
from harness.measure import Options, contestants_of, note, rounds_of
from harness.processes import Failure, Ours, Peer, compile_program, run_json


class OurTranslator:
    """A compiled program: a fresh process a round."""

    def __init__(self, folder: Path, cache: Path, threads: int, options: Options) -> None:
        program = cache / options.isa.file_name("program")
        compile_program(options.compiler, folder, program, options.isa)
        self.command, self.threads = [program, "bench", "--weights", folder], threads

    def prepare(self, batch: dict, source: int, new: int) -> None:
        rows, beams = batch["rows"], batch["beams"]
        self.shape = ["--shape", f"{rows}x{source}", "--new-tokens", new, "--num-beams", beams, "--batch-size", rows * beams]

    def median_ms(self, repeat: int) -> float:
        options = ["--threads", self.threads, "--repeat", repeat, "--json"]
        return run_json(self.threads, [*self.command, *self.shape, *options])["median_ms"]

    def close(self) -> None:
        pass


class PeerTranslator:
    def __init__(self, name: str, folder: Path, cache: Path, threads: int, options: Options) -> None:
        self.peer = Peer(f"{name}-translator", folder, cache, threads, options.isa)
        self.median_ms, self.close = self.peer.median_ms, self.peer.close

    def prepare(self, batch: dict, source: int, new: int) -> None:
        request = batch | {"length": source, "new_tokens": new}
        _, tokens = self.peer.prepare({name: np.int64(value) for name, value in request.items()})
        if tokens.shape != (batch["rows"], new):
            raise Failure(f"{tokens.shape} tokens, expected {(batch['rows'], new)}")


def makers(run: dict, threads: int, options: Options) -> dict:
    folder, cache = checkpoint(run["model"], options.cache), model_cache(run["model"], options.cache)
    peers = {name: partial(PeerTranslator, name, folder, cache, threads, options) for name in run["peers"]}
    return {Ours.name: partial(OurTranslator, folder, cache, threads, options)} | peers


def measure_translation(run: dict, all_threads: list[int], options: Options) -> dict:
    """`run`: a run file with "translate": the source's tokens, the new ones, and the batches."""
    wanted = run["translate"]
    source, new = wanted["source"], wanted["new_tokens"]
    result = {"model": run["model"], "isa": options.isa.name, "source": source, "new_tokens": new, "rows": []}
    for threads in all_threads:
        missing: dict[str, str] = {}
        title = f"{run['model']}, {threads} threads"
        with contestants_of(makers(run, threads, options), title, missing) as translators:
            for name, batch in wanted["batches"].items():
                gaps = dict(missing)
                prepare = lambda _, translator: translator.prepare(batch, source, new)  # noqa: E731
                rounds = rounds_of(translators, prepare, options, gaps)
                ms = {who: statistics.median(times) for who, times in rounds.items()}
                shape = f"{name}, {source} tokens to {new}"
                result["rows"].append({"shape": shape, "threads": threads, "ms": ms, "rounds_ms": rounds, "gaps": gaps})
                note(f"{title}, {shape}: " + ", ".join(f"{who} {t:.0f} ms" for who, t in ms.items()))
    return result
