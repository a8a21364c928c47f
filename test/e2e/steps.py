#!/usr/bin/env python3
"""The entry point `step` of decoder families: prompts at once, in parts, token by token, alone and in
a batch give the same bits, and what `forward` gives for the whole sequence. Of encoder-decoders with
sources that `encode` has put into the cache, together or one after the other."""

import argparse
import json
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute
from longer import is_encoder_decoder, longer, vocabularies
from safetensors.numpy import load_file, save_file

PAGE = 64  # positions; models/DecoderEntry.cpp
LENGTHS = (150, 1, 70, 64)
SOURCES = (64, 130, 1, 77)


def padded(rows: list[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Ids and their mask."""
    counts = np.array([len(ids) for ids in rows])
    grid, columns = np.zeros((len(rows), counts.max()), np.int64), np.arange(counts.max())
    for to, ids in zip(grid, rows):
        to[: len(ids)] = ids
    return grid, (columns < counts[:, None]).astype(np.int64)


def encoder_inputs(sources: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Of tokens, or of features [mels, frames]."""
    if sources[0].ndim == 2:
        return {"input_features": np.stack(sources)}
    ids, mask = padded(sources)
    return {"input_ids": ids, "attention_mask": mask}


@dataclass
class Model:
    """A program, its weights, and what its sequences are about: nothing, or a source each."""

    program: Path
    weights: Path
    folder: Path
    takes_positions: bool
    tables: np.ndarray  # the pages of each sequence, then of each source
    sources: list[np.ndarray]

    def __post_init__(self) -> None:
        self.prefix = "decoder_" if self.sources else ""

    def run(self, entry: str, inputs: dict[str, np.ndarray], *options: object) -> dict[str, np.ndarray]:
        names = [self.folder / name for name in ("in.safetensors", "out.safetensors")]
        save_file(inputs, names[0])
        out = [] if entry == "encode" else ["-o", names[1]]
        done = execute([self.program, "run", "--entry", entry, "-w", self.weights, "-i", names[0], *out, *options])
        if done.code != 0:
            raise RuntimeError(f"{entry}: exit code {done.code}: {done.complaint()}")
        return load_file(names[1]) if out else {}

    def forward(self, row: int, ids: np.ndarray) -> np.ndarray:
        inputs = {self.prefix + name: tokens[None] for name, tokens in (("input_ids", ids), ("attention_mask", np.ones_like(ids)))}
        if self.sources:
            inputs |= encoder_inputs([self.sources[row]])
        return self.run("forward", inputs)["logits"][0]


@dataclass
class Session:
    """A model's cache from call to call."""

    model: Model
    encode_at_once: bool = True
    lengths: np.ndarray = field(init=False)
    started: bool = False

    def __post_init__(self) -> None:
        count = len(self.model.sources)
        self.lengths = np.zeros(len(self.model.tables) - count, np.int64)
        everyone = range(count)
        for rows in [everyone] if self.encode_at_once and count else [[row] for row in reversed(everyone)]:
            table, lengths = self.sources_of(rows)
            sources = encoder_inputs([self.model.sources[row] for row in rows])
            self.run("encode", sources | {"page_table": table, "key_lengths": lengths})

    def sources_of(self, rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
        sources = [self.model.sources[row] for row in rows]
        lengths = np.array([len(source) if source.ndim == 1 else source.shape[1] // 2 for source in sources])
        return self.model.tables[[len(self.lengths) + row for row in rows]], lengths

    def run(self, entry: str, inputs: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        state, pages = self.model.folder / "state.safetensors", self.model.tables.max() + 1
        start = ["--state-in", state] if self.started else ["--size", f"pages={pages}"]
        self.started = True
        return self.model.run(entry, inputs, "--state-out", state, *start)

    def step(self, rows: list[int], new: list[np.ndarray]) -> np.ndarray:
        """Logits `[rows, vocabulary]` behind new tokens of some of the sequences."""
        ids, mask = padded(new)
        positions = np.minimum(self.lengths[rows, None] + np.arange(ids.shape[1]), max(LENGTHS) - 1)
        self.lengths[rows] += mask.sum(axis=1)
        prefix = self.model.prefix
        inputs = {prefix + "input_ids": ids, prefix + "attention_mask": mask}
        inputs |= {"page_table": self.model.tables[rows], "key_lengths": self.lengths[rows]}
        if self.model.sources:
            inputs["source_page_table"], inputs["source_lengths"] = self.sources_of(rows)
        if self.model.takes_positions:
            inputs[prefix + "position_ids"] = positions
        return self.run("step", inputs)["logits"]


def make_sources(case: Path, config: dict, random: np.random.Generator) -> list[np.ndarray]:
    if config["model_type"] == "whisper":
        shape = (config["num_mel_bins"], 2 * config["max_source_positions"])
        return [random.standard_normal(shape).astype(np.float32) for _ in SOURCES]
    return [random.integers(0, vocabularies(config)[0], n) for n in SOURCES] if is_encoder_decoder(case) else []


def problem(case: Path, program: Path, folder: Path) -> str | None:
    config = json.loads((case / "config.json").read_text())
    random = np.random.default_rng(7)
    limit = config.get("max_position_embeddings") or config.get("n_positions") or 10**6
    limited = config["model_type"] in ("gpt2", "openai-gpt", "gptj", "opt")
    lengths = [min(n, limit) if limited else n for n in LENGTHS]
    prompts = [random.integers(0, vocabularies(config)[1], n) for n in lengths]
    sources = make_sources(case, config, random)
    count, pages = len(prompts) + len(sources), -(-max(lengths) // PAGE)
    tables = random.permutation(count * pages).reshape(count, pages).astype(np.int64)
    everyone = list(range(len(prompts)))
    model = Model(program, case, folder, config["model_type"] not in ("bloom", "t5"), tables, sources)

    whole = Session(model).step(everyone, prompts)
    for b in everyone:
        want = model.forward(b, prompts[b])[-1]
        error, size = np.abs(whole[b] - want).max(), np.abs(want).max()
        if error > 2e-5 * size:
            return f"sequence {b}: step differs from forward by {error:.2e}, largest logit {size:.2e}"
    # Token by token behind a first part, in a batch that gets smaller.
    one = Session(model, encode_at_once=False)
    first = [max(1, n - 3) for n in lengths]
    logits = dict(zip(everyone, one.step(everyone, [p[:n] for p, n in zip(prompts, first)])))
    while left := [b for b in everyone if one.lengths[b] < lengths[b]]:
        logits |= dict(zip(left, one.step(left, [prompts[b][one.lengths[b]][None] for b in left])))
    for b in everyone:
        if not np.array_equal(logits[b], whole[b]):
            return f"sequence {b}: token by token differs by {np.abs(logits[b] - whole[b]).max():.2e}"
    # In parts, alone, others in between.
    parts = Session(model)
    for size in (13, 51, 1, 64, 30):
        for b in reversed(everyone):
            part = prompts[b][parts.lengths[b] : parts.lengths[b] + size]
            if len(part):
                logits[b] = parts.step([b], [part])[0]
    for b in everyone:
        if not np.array_equal(logits[b], whole[b]):
            return f"sequence {b}: in parts differs by {np.abs(logits[b] - whole[b]).max():.2e}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--arch", help="compile for another CPU, run here")
    for numbers in ("weights", "activations"):
        parser.add_argument(f"--{numbers}-dtype", default="f32", help="what programs are compiled with")
    parser.add_argument("cases", nargs="+", help="golden cases")
    options = parser.parse_args()
    report = Report()
    for name in options.cases:
        with tempfile.TemporaryDirectory() as scratch:
            program, case = Path(scratch) / "program", GOLDEN / name
            try:
                if is_encoder_decoder(case):
                    case = longer(case, Path(scratch) / "checkpoint")
                arch = ["--arch", options.arch] if options.arch else []
                dtypes = ["--weights-dtype", options.weights_dtype, "--activations-dtype", options.activations_dtype]
                compile_program(options.compile, case, program, *arch, *dtypes)
                reason = problem(case, program, Path(scratch))
            except RuntimeError as error:
                reason = str(error)
            report.add(f"steps/{name}", reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
