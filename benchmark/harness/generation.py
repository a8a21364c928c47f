"""Greedy generation: the milliseconds of a prompt's first token, and of each that follows.

The time of a token behind the first is that of all of them less that of one, over how many there are between.
"""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path

import numpy as np

from harness.checkpoints import checkpoint, model_cache
from harness.measure import Options, contestants_of, note, runs_of
from harness.processes import Failure, Ours, Peer, compile_program, run_json

FLOAT32 = "f32"  # the only numbers that peers are asked for


def dtypes(form: str) -> list[str]:
    """int4: weights of this; int4/int8: and activations of that."""
    weights, _, activations = form.partition("/")
    return ["--weights-dtype", weights, *(["--activations-dtype", activations] if activations else [])]


def our_name(form: str) -> str:
    return Ours.name if form == FLOAT32 else f"{Ours.name}, {form}"


class OurGenerator:
    """A compiled program: a fresh process a round."""

    def __init__(self, folder: Path, cache: Path, form: str, threads: int, options: Options) -> None:
        program = cache / f"{options.isa.file_name('program')}-{form.replace('/', '-')}"
        compile_program(options.compiler, folder, program, options.isa, *dtypes(form))
        self.command, self.threads = [program, "bench", "--weights", folder], threads
        self.repeat = runs_of(options)

    def times(self, prompt: int, new: int) -> tuple[float, float]:
        shape = ["--lengths", prompt, "--new-tokens", new, "--threads", self.threads, "--repeat", self.repeat, "--json"]
        found = run_json(self.threads, [*self.command, *shape])
        return found["prefill_ms"], 1e3 / found["decode_tokens_per_second"]

    def close(self) -> None:
        pass


class PeerGenerator:
    """A worker that is asked for one token and for all of them in turn."""

    def __init__(self, name: str, folder: Path, cache: Path, threads: int, options: Options) -> None:
        self.peer = Peer(f"{name}-generator", folder, cache, threads, options.isa)
        self.repeat = runs_of(options)

    def times(self, prompt: int, new: int) -> tuple[float, float]:
        ms = []
        for count in (1, new):
            _, tokens = self.peer.prepare({"length": np.int64(prompt), "new_tokens": np.int64(count)})
            if tokens.shape != (count,):
                raise Failure(f"{tokens.shape} tokens, expected {count}")
            ms.append(self.peer.median_ms(self.repeat))
        return ms[0], (ms[1] - ms[0]) / (new - 1)

    def close(self) -> None:
        self.peer.close()


def makers(run: dict, threads: int, options: Options) -> dict:
    folder, cache = checkpoint(run["model"], options.cache), model_cache(run["model"], options.cache)
    ours = {our_name(form): partial(OurGenerator, folder, cache, form, threads, options) for form in run["weights"]}
    return ours | {name: partial(PeerGenerator, name, folder, cache, threads, options) for name in run["peers"]}


def measure_generation(run: dict, all_threads: list[int], options: Options) -> dict:
    """`run`: a run file with "generate": the prompt's tokens and the new ones."""
    prompt, new = run["generate"]["prompt"], run["generate"]["new_tokens"]
    result = {"model": run["model"], "isa": options.isa.name, "prompt": prompt, "new_tokens": new, "rows": []}
    for threads in all_threads:
        gaps: dict[str, str] = {}
        rounds: dict[str, list[tuple[float, float]]] = {}
        with contestants_of(makers(run, threads, options), f"{run['model']}, {threads} threads", gaps) as generators:
            for _ in range(options.rounds):
                for name, generator in generators.items():
                    try:
                        if name not in gaps:
                            rounds.setdefault(name, []).append(generator.times(prompt, new))
                    except Failure as failure:
                        gaps[name] = str(failure)
        medians = {name: [statistics.median(ms) for ms in zip(*times)] for name, times in rounds.items() if name not in gaps}
        for part, name in enumerate((f"prompt of {prompt}", f"a token behind it, of {new}")):
            ms = {contestant: times[part] for contestant, times in medians.items()}
            result["rows"].append({"shape": name, "threads": threads, "ms": ms, "gaps": gaps})
            note(f"{run['model']}, {name}, {threads} threads: " + ", ".join(f"{who} {t:.2f} ms" for who, t in ms.items()))
    return result
