#!/usr/bin/env python3
"""Compares runtime/generate with Hugging Face's transformers: scores, searches and draws.

usage: generation_processors.py GENERATION_CHECK [--only TEXT]
  GENERATION_CHECK  the test program of that name
  --only TEXT       only checks whose names contain TEXT

The model of the searches is a table that both sides read: the scores after the last two tokens. A
line PASS or FAIL a check; exit code 1 when one failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import warnings
import zlib
from pathlib import Path

import generation_cases as cases
import numpy as np
import torch
from generation_model import TableModel, tokenizer_of
from transformers import GenerationConfig
from transformers.utils import logging

# Of a score's size: what a softmax over some hundred float32 may differ by.
TOLERANCE = 4e-6
VOCABULARY = 24


class Program:
    """The test program, asked line by line."""

    def __init__(self, path: str) -> None:
        self.process = subprocess.Popen([path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, **request: object) -> object:
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            raise SystemExit(f"the program ended with {self.process.wait()} at {json.dumps(request)[:300]}")
        answer = json.loads(line)
        if isinstance(answer, dict) and "error" in answer:
            raise ValueError(answer["error"])
        return answer


class Report:
    def __init__(self, only: str) -> None:
        self.only, self.passed, self.failed = only, 0, 0

    def wants(self, name: str) -> bool:
        return self.only in name

    def add(self, name: str, problem: str | None) -> None:
        self.passed += problem is None
        self.failed += problem is not None
        print(f"PASS: {name}" if problem is None else f"FAIL: {name}: {problem}", flush=True)

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


# --- scores ---------------------------------------------------------------------------------------


def processors_of(settings: dict, prompt: int, limit: int, source: list[int], vocabulary: int):
    """transformers' processors for one row."""
    model = TableModel.empty(vocabulary)
    config, _ = model._prepare_generation_config(None, **settings)
    config.max_length = limit
    if config.min_new_tokens is not None:
        config.min_length = config.min_new_tokens + prompt
    model._prepare_special_tokens(config, True, device="cpu", batch_size=1)
    return model._get_logits_processor(
        generation_config=config, input_ids_seq_length=prompt, encoder_input_ids=torch.tensor([source]))


def difference(found: np.ndarray, expected: np.ndarray) -> str | None:
    """Where two rows of scores differ by more than rounding."""
    different_kept = np.isneginf(found) != np.isneginf(expected)
    if different_kept.any():
        token = int(np.flatnonzero(different_kept)[0])
        return f"token {token}: expected {expected[token]}, found {found[token]}"
    finite = np.isfinite(expected)
    if not np.array_equal(found[~finite], expected[~finite], equal_nan=True):
        return "infinities differ"
    error = np.abs(found[finite] - expected[finite]) / np.maximum(1, np.abs(expected[finite]))
    return f"differs by {error.max():.3g}" if error.size and error.max() > TOLERANCE else None


def check_scores(program: Program, report: Report, folder: Path) -> None:
    """A line a processor alone, and one for it with each of the others."""
    groups: dict[str, list] = {}
    for name, settings, vocabulary, count in cases.score_cases():
        one, *other = name.split(" + ")
        groups.setdefault(f"scores: {one} and another" if other else f"scores: {one}", []).append(
            (name, settings, vocabulary, count))
    for name, members in groups.items():
        if report.wants(name):
            problems = [problem for member in members for problem in wrong_rows(program, folder, *member)]
            summary = f"{len(problems)} rows; {problems[0]}" if problems else None
            report.add(f"{name}: {sum(member[3] for member in members)} rows of {members[0][2]}", summary)


def wrong_rows(program: Program, folder: Path, name: str, settings: dict, vocabulary: int, count: int) -> list[str]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows = [cases.history(rng, vocabulary) for _ in range(count)]
    scores = cases.random_scores(rng, count, vocabulary)
    if settings.get("num_beams", 1) > 1:
        scores = torch.tensor(scores).log_softmax(-1).numpy()
    np.save(folder / "scores.npy", scores)
    program.ask(do="scores", config=settings, scores=str(folder / "scores.npy"), out=str(folder / "out.npy"), rows=rows)
    found = np.load(folder / "out.npy")
    problems = []
    for i, row in enumerate(rows):
        processors = processors_of(settings, row["prompt"], row["max"], row["source"], vocabulary)
        try:
            expected = processors(torch.tensor([row["tokens"]]), torch.tensor(scores[i:i + 1]))[0].numpy()
        except ValueError:  # no token is left, which top_h takes badly
            continue
        problem = difference(found[i], expected)
        if problem:
            problems.append(f"{name}, row {i}: {problem}")
    return problems


# --- searches -------------------------------------------------------------------------------------


def expected_sequences(model: TableModel, settings: dict, prompts: list[list[int]], **more):
    """What generate() gives: for each prompt a list of (tokens without padding, score)."""
    width = max(map(len, prompts))
    ids = torch.zeros((len(prompts), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, prompt in enumerate(prompts):
        ids[i, width - len(prompt):] = torch.tensor(prompt)
        mask[i, width - len(prompt):] = 1
    beams = settings.get("num_beams", 1) > 1
    out = model.generate(ids, attention_mask=mask, return_dict_in_generate=True, output_scores=beams,
                         **settings, **more)
    each = settings.get("num_return_sequences", 1)
    result = []
    for i, prompt in enumerate(prompts):
        result.append([])
        for j in range(i * each, (i + 1) * each):
            tokens = out.sequences[j, width:].tolist()
            if beams:
                tokens = tokens[:int((out.beam_indices[j] >= 0).sum())]
                score = float(out.sequences_scores[j])
            else:
                ends = settings.get("eos_token_id", [])
                ends = ends if isinstance(ends, list) else [ends]
                stop = next((k for k, token in enumerate(tokens) if token in ends), len(tokens) - 1)
                tokens, score = tokens[:stop + 1], 0
                # A stop string is not seen in the tokens: what follows it is padding.
                while len(tokens) > 1 and "stop_strings" in settings and tokens[-1] == settings["pad_token_id"]:
                    tokens.pop()
            result[-1].append((prompt + tokens, score))
    return result


def compare(found: list, expected: list) -> tuple[int, str | None]:
    """How many prompts agree, and the first that does not."""
    agree, problem = 0, None
    for i, (ours, theirs) in enumerate(zip(found, expected)):
        same = len(ours) == len(theirs) and all(
            one["tokens"] == tokens and abs(one["score"] - score) <= 1e-5 * max(1, abs(score))
            for one, (tokens, score) in zip(ours, theirs))
        agree += same
        if not same and problem is None:
            problem = f"prompt {i}: expected {theirs}, found {[(o['tokens'], o['score']) for o in ours]}"
    return agree, problem


def check_search(program: Program, report: Report, folder: Path) -> None:
    for name, settings, options in cases.search_cases():
        if not report.wants(f"search: {name}"):
            continue
        rng = np.random.default_rng(7)
        more = {"tokenizer": tokenizer_of(cases.WORDS)} if options.get("tokenizer") else {}
        agree = total = 0
        problem = None
        for table in range(options.get("tables", 4)):
            model = TableModel.random(VOCABULARY, rng, options.get("spread", 2.0))
            np.save(folder / "table.npy", model.table.numpy())
            for batch in (1, 3, 8):
                prompts = cases.prompts(rng, batch, VOCABULARY, options)
                expected = expected_sequences(model, settings, prompts, **more)
                found = program.ask(do="search", config=settings, table=str(folder / "table.npy"), prompts=prompts,
                                    **options.get("ask", {}))
                good, bad = compare(found, expected)
                agree, total, problem = agree + good, total + batch, problem or bad
        summary = None if agree == total else f"{total - agree} of {total}; {problem}"
        report.add(f"search: {name}: {total} prompts", summary)


def check_independence(program: Program, report: Report, folder: Path) -> None:
    """A sequence is the same alone and among others."""
    for name, settings in cases.independent_cases():
        if not report.wants(f"alone and in a batch: {name}"):
            continue
        rng = np.random.default_rng(3)
        np.save(folder / "table.npy", TableModel.random(VOCABULARY, rng, 2.0).table.numpy())
        prompts = [rng.integers(3, VOCABULARY, rng.integers(1, 6)).tolist() for _ in range(40)]
        ask = dict(do="search", config=settings, table=str(folder / "table.npy"))
        together = program.ask(**ask, prompts=prompts)
        alone = [program.ask(**ask, prompts=[prompt], numbers=[i])[0] for i, prompt in enumerate(prompts)]
        differ = sum(a != b for a, b in zip(together, alone))
        report.add(f"alone and in a batch: {name}: 40 prompts", f"{differ} differ" if differ else None)


# --- configurations -------------------------------------------------------------------------------


def check_configs(program: Program, report: Report, folder: Path) -> None:
    for name, generation, model in cases.config_cases():
        if not report.wants(f"configuration: {name}"):
            continue
        own = folder / "generation_config.json"
        own.unlink(missing_ok=True)
        if generation is not None:
            own.write_text(json.dumps(generation))
        (folder / "config.json").write_text(json.dumps(model))
        if generation is None:  # as models are loaded
            config = GenerationConfig.from_pretrained(folder, "config.json", _from_model_config=True)
        else:
            config = GenerationConfig.from_pretrained(folder)
        defaults = {**config._get_default_generation_params(), "max_length": None}
        problems = []
        for field, found in program.ask(do="config", folder=str(folder)).items():
            expected = getattr(config, field)
            expected = defaults.get(field) if expected is None else expected
            if isinstance(found, list):
                expected = [] if expected is None else expected if isinstance(expected, list) else [expected]
            if found != expected:
                problems.append(f"{field}: expected {expected}, found {found}")
        report.add(f"configuration: {name}", "; ".join(problems) or None)


# --- draws ----------------------------------------------------------------------------------------


def chi_square(found: np.ndarray, expected: np.ndarray) -> str | None:
    """Whether counts are as far from what is expected as hardly ever."""
    often = expected >= 5
    seen, wanted = np.append(found[often], found[~often].sum()), np.append(expected[often], expected[~often].sum())
    seen, wanted = seen[wanted > 0], wanted[wanted > 0]
    statistic, degrees = ((seen - wanted) ** 2 / wanted).sum(), len(wanted) - 1
    # Wilson and Hilferty: how many standard deviations a chi-square is from its mean.
    spread = 2 / (9 * degrees)
    deviation = ((statistic / degrees) ** (1 / 3) - (1 - spread)) / spread**0.5
    return f"chi-square {statistic:.1f} of {degrees} degrees of freedom" if deviation > 3.5 else None


def check_beam_draws(program: Program, report: Report, folder: Path) -> None:
    """Two beams of one token are the first two that are drawn without replacement."""
    vocabulary, count = 7, 50_000
    model = TableModel.random(vocabulary, np.random.default_rng(5), 1.0)
    np.save(folder / "table.npy", model.table.numpy())
    settings = {"do_sample": True, "num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 1, "seed": 9}
    answer = program.ask(do="search", config=settings, table=str(folder / "table.npy"), prompts=[[1, 2]] * count)
    p = model.table[1, 2].double().softmax(-1).numpy()
    pairs = [(i, j) for i in range(vocabulary) for j in range(i)]
    expected = np.array([p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j]) for i, j in pairs]) * count
    found = dict.fromkeys(pairs, 0)
    for one, other in answer:
        found[tuple(sorted((one["tokens"][-1], other["tokens"][-1]), reverse=True))] += 1
    report.add(f"draws: beams: {count} pairs of {vocabulary} tokens",
               chi_square(np.array(list(found.values())), expected))


def check_draws(program: Program, report: Report, folder: Path) -> None:
    count = 100_000
    if report.wants("draws: beams"):
        check_beam_draws(program, report, folder)
    for name, settings, vocabulary in cases.draw_cases():
        if not report.wants(f"draws: {name}"):
            continue
        rng = np.random.default_rng(11)
        scores = cases.random_scores(rng, 1, vocabulary)
        np.save(folder / "scores.npy", scores[0])
        found = np.array(program.ask(do="draws", config=settings, scores=str(folder / "scores.npy"), count=count))
        processed = processors_of(settings, 1, 21, [1], vocabulary)(torch.tensor([[1]]), torch.tensor(scores))
        expected = processed.softmax(-1)[0].double().numpy() * count
        problem = chi_square(found, expected)
        if found[expected == 0].any():
            problem = "a token that is left out was drawn"
        report.add(f"draws: {name}: {count} draws of {(expected > 0).sum()} tokens", problem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.set_verbosity_error()
    torch.set_num_threads(1)
    program, report = Program(options.program), Report(options.only)
    with tempfile.TemporaryDirectory() as scratch, torch.no_grad():
        for check in (check_configs, check_scores, check_search, check_independence, check_draws):
            check(program, report, Path(scratch))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
