#!/usr/bin/env python3
"""Compares runtime/generate with Hugging Face's transformers: scores, searches and draws.

The model of the searches is a table that both sides read: the scores after the last two tokens. A
line PASS or FAIL a check; exit code 1 when one failed.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import zlib
from pathlib import Path
from types import ModuleType

import generation_cases as cases
import numpy as np

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from recorded import Answers, add_options  # noqa: E402

# Of a score's size: what a softmax over some hundred float32 may differ by.
TOLERANCE = 4e-6
VOCABULARY = 24
# Rows that are recorded, by their size; live all of them are compared.
RECORDED_ROWS = {12: 200, 7: 40, 200: 3, 300: 4, 5000: 1}


def reference() -> ModuleType:
    """transformers' side, which needs it."""
    import generation_reference

    return generation_reference


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


def check_scores(program: Program, report: Report, answers: Answers, folder: Path) -> None:
    """A line a processor alone, and one for it with each of the others."""
    groups: dict[str, list] = {}
    for name, settings, vocabulary, count in cases.score_cases():
        one, *other = name.split(" + ")
        if answers.record or not answers.live:
            count = min(count, RECORDED_ROWS[vocabulary])
        groups.setdefault(f"scores: {one} and another" if other else f"scores: {one}", []).append(
            (name, settings, vocabulary, count))
    for name, members in groups.items():
        if report.wants(name):
            problems = [problem for member in members for problem in wrong_rows(program, answers, folder, *member)]
            summary = f"{len(problems)} rows; {problems[0]}" if problems else None
            report.add(f"{name}: {sum(member[3] for member in members)} rows of {members[0][2]}", summary)


def log_softmax(scores: np.ndarray) -> np.ndarray:
    scores = scores - scores.max(-1, keepdims=True)
    return scores - np.log(np.exp(scores).sum(-1, keepdims=True))


def processed_rows(settings: dict, rows: list[dict], scores: np.ndarray) -> np.ndarray:
    """transformers' scores, NaN where they are as before; a row that it does not take is infinite."""
    result = np.full_like(scores, np.inf)
    for i, row in enumerate(rows):
        if (processed := reference().processed(settings, row, scores[i])) is not None:
            result[i] = np.where(processed == scores[i], np.nan, processed)
    return result


def wrong_rows(program: Program, answers: Answers, folder: Path, name: str, settings: dict, vocabulary: int,
               count: int) -> list[str]:
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    rows = [cases.history(rng, vocabulary) for _ in range(count)]
    scores = cases.random_scores(rng, count, vocabulary)
    if settings.get("num_beams", 1) > 1:
        scores = log_softmax(scores)
    np.save(folder / "scores.npy", scores)
    program.ask(do="scores", config=settings, scores=str(folder / "scores.npy"), out=str(folder / "out.npy"), rows=rows)
    found = np.load(folder / "out.npy")
    expected = answers.get(f"scores: {name}, of {vocabulary}", [settings, rows],
                           lambda: processed_rows(settings, rows, scores))
    problems = []
    for i in range(count):
        if np.isposinf(expected[i]).all():
            continue
        problem = difference(found[i], np.where(np.isnan(expected[i]), scores[i], expected[i]))
        if problem:
            problems.append(f"{name}, row {i}: {problem}")
    return problems


# --- searches -------------------------------------------------------------------------------------


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


def random_table(rng: np.random.Generator, vocabulary: int, spread: float) -> np.ndarray:
    return rng.normal(0, spread, (vocabulary,) * 3).astype(np.float32)


def check_search(program: Program, report: Report, answers: Answers, folder: Path) -> None:
    for name, settings, options in cases.search_cases():
        if not report.wants(f"search: {name}"):
            continue
        rng = np.random.default_rng(7)
        words = options.get("words")
        agree = total = 0
        problem = None
        for number in range(options.get("tables", 4)):
            table = random_table(rng, VOCABULARY, options.get("spread", 2.0))
            np.save(folder / "table.npy", table)
            for batch in (1, 3, 8):
                prompts = cases.prompts(rng, batch, VOCABULARY, options)
                expected = answers.get(f"search: {name}, table {number}, {batch}", [settings, prompts],
                                       lambda: reference().sequences(table, settings, prompts, words))
                found = program.ask(do="search", config=settings, table=str(folder / "table.npy"), prompts=prompts,
                                    **({"words": words} if words else {}))
                good, bad = compare(found, expected)
                agree, total, problem = agree + good, total + batch, problem or bad
        summary = None if agree == total else f"{total - agree} of {total}; {problem}"
        report.add(f"search: {name}: {total} prompts", summary)


def check_independence(program: Program, report: Report, _: Answers, folder: Path) -> None:
    """A sequence is the same alone and among others."""
    for name, settings in cases.independent_cases():
        if not report.wants(f"alone and in a batch: {name}"):
            continue
        rng = np.random.default_rng(3)
        np.save(folder / "table.npy", random_table(rng, VOCABULARY, 2.0))
        prompts = [rng.integers(3, VOCABULARY, rng.integers(1, 6)).tolist() for _ in range(40)]
        ask = dict(do="search", config=settings, table=str(folder / "table.npy"))
        together = program.ask(**ask, prompts=prompts)
        alone = [program.ask(**ask, prompts=[prompt], numbers=[i])[0] for i, prompt in enumerate(prompts)]
        differ = sum(a != b for a, b in zip(together, alone))
        report.add(f"alone and in a batch: {name}: 40 prompts", f"{differ} differ" if differ else None)


# --- configurations -------------------------------------------------------------------------------


def check_configs(program: Program, report: Report, answers: Answers, folder: Path) -> None:
    for name, generation, model in cases.config_cases():
        if not report.wants(f"configuration: {name}"):
            continue
        own = folder / "generation_config.json"
        own.unlink(missing_ok=True)
        if generation is not None:
            own.write_text(json.dumps(generation))
        (folder / "config.json").write_text(json.dumps(model))
        found = program.ask(do="config", folder=str(folder))
        wanted = answers.get(f"configuration: {name}", [generation, model, list(found)],
                             lambda: reference().configuration(folder, own.exists(), list(found)))
        problems = []
        for field, value in found.items():
            expected = wanted[field]
            if isinstance(value, list):
                expected = [] if expected is None else expected if isinstance(expected, list) else [expected]
            if value != expected:
                problems.append(f"{field}: expected {expected}, found {value}")
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


def softmax(scores: np.ndarray) -> np.ndarray:
    return np.exp(log_softmax(scores.astype(np.float64)))


def check_beam_draws(program: Program, report: Report, folder: Path) -> None:
    """Two beams of one token are the first two that are drawn without replacement."""
    vocabulary, count = 7, 50_000
    table = random_table(np.random.default_rng(5), vocabulary, 1.0)
    np.save(folder / "table.npy", table)
    settings = {"do_sample": True, "num_beams": 2, "num_return_sequences": 2, "max_new_tokens": 1, "seed": 9}
    answer = program.ask(do="search", config=settings, table=str(folder / "table.npy"), prompts=[[1, 2]] * count)
    p = softmax(table[1, 2])
    pairs = [(i, j) for i in range(vocabulary) for j in range(i)]
    expected = np.array([p[i] * p[j] / (1 - p[i]) + p[j] * p[i] / (1 - p[j]) for i, j in pairs]) * count
    found = dict.fromkeys(pairs, 0)
    for one, other in answer:
        found[tuple(sorted((one["tokens"][-1], other["tokens"][-1]), reverse=True))] += 1
    report.add(f"draws: beams: {count} pairs of {vocabulary} tokens",
               chi_square(np.array(list(found.values())), expected))


def check_draws(program: Program, report: Report, answers: Answers, folder: Path) -> None:
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
        row = {"prompt": 1, "max": 21, "source": [1], "tokens": [1]}
        expected = answers.get(f"draws: {name}", [settings, row], lambda: processed_rows(settings, [row], scores))
        expected = softmax(np.where(np.isnan(expected), scores, expected)[0]) * count
        problem = chi_square(found, expected)
        if found[expected == 0].any():
            problem = "a token that is left out was drawn"
        report.add(f"draws: {name}: {count} draws of {(expected > 0).sum()} tokens", problem)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help="the test program generation_check")
    parser.add_argument("--only", default="", metavar="TEXT", help="only checks whose names contain this")
    add_options(parser)
    options = parser.parse_args()
    answers = Answers(HERE / "generation_answers.npz", options.live, options.record)
    program, report = Program(options.program), Report(options.only)
    with tempfile.TemporaryDirectory() as scratch:
        for check in (check_configs, check_scores, check_search, check_independence, check_draws):
            check(program, report, answers, Path(scratch))
    answers.save()
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
