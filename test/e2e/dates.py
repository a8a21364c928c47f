#!/usr/bin/env python3
"""scripts/demo train with few steps: a model of "model_type": "transformer" learns from a seed, goes on from a folder
that it has saved, and translates; what it saves has the names of torch.nn.Transformer. With --live the installed
PyTorch loads the weights and gives the same logits."""

import argparse
import json
import re
import sys
import tempfile
from pathlib import Path

from harness import Report, compile_program, execute
from safetensors import safe_open

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"
LINES, STEPS, FIRST_STEPS, ROWS = 6400, 400, 40, 32
FIRST_LOSS, LOSS = 3.0, 0.7  # per token: at least before, at most after; the logarithm of the vocabulary is 4.3
SHAPED_LIKE_DATES = 0.95  # of the answers; few are right yet


class Runs:
    def __init__(self, compiler: Path, folder: Path) -> None:
        self.folder, self.compiler = folder, compiler
        succeed([sys.executable, EXAMPLES / "dates.py", "make", folder, "--lines", LINES])
        self.config = json.loads((folder / "model" / "config.json").read_text())
        compile_program(compiler, folder / "model", folder / "trainer", "--mode", "train")

    def train(self, name: str, steps: int, *options: object) -> Path:
        """The folder `name` that it saves; beside it are a log and a drawing."""
        data = ("--data", self.folder / "train.tsv", "--epochs", 2, "--batch-size", ROWS)
        rate = ("--learning-rate", 3e-3, "--schedule", "inverse-sqrt", "--warmup-steps", 100)
        evaluation = ("--eval-data", self.folder / "valid.tsv")
        files = ("--log", self.folder / f"{name}.jsonl", "--plot", self.folder / f"{name}.svg", "--save", self.folder / name)
        start = ("--init", 0, "--definition", self.folder / "model")
        succeed([self.folder / "trainer", "train", *start, *data, *rate, *evaluation, *files, "--steps", steps, *options])
        return self.folder / name


def succeed(command: list[object]) -> None:
    done = execute(command)
    if done.code != 0:
        raise RuntimeError(f"{Path(str(command[0])).name} {command[1]}: exit code {done.code}: {done.complaint()}")


def expected_names(config: dict) -> set[str]:
    """The state dict of torch.nn.Transformer, with embeddings and a generator."""
    pair = lambda name: {f"{name}.weight", f"{name}.bias"}
    names = {"src_embed.weight", "tgt_embed.weight"} | pair("generator")
    for side, blocks in (("encoder", ("self_attn",)), ("decoder", ("self_attn", "multihead_attn"))):
        names |= pair(f"transformer.{side}.norm")
        for i in range(config[f"num_{side}_layers"]):
            layer = f"transformer.{side}.layers.{i}"
            names |= pair(f"{layer}.linear1") | pair(f"{layer}.linear2")
            for n, block in enumerate(blocks, 1):
                names |= {f"{layer}.{block}.in_proj_weight", f"{layer}.{block}.in_proj_bias"} | pair(f"{layer}.norm{n}")
                names |= pair(f"{layer}.{block}.out_proj")
            names |= pair(f"{layer}.norm{len(blocks) + 1}")
    return names


def why_not_learning(log: Path) -> str | None:
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    first, last = lines[0]["loss"], lines[-1].get("eval_loss")
    if last is None or first < FIRST_LOSS or last > LOSS:
        return f"loss {first} -> {last}, expected from more than {FIRST_LOSS} to less than {LOSS}"
    return None


def why_not_named(saved: Path, config: dict) -> str | None:
    with safe_open(saved / "model.safetensors", "np") as file:
        found = set(file.keys())
    different = sorted(found ^ expected_names(config))
    return f"in one of file and definition only: {', '.join(different[:4])}" if different else None


def why_not_repeatable(runs: Runs) -> str | None:
    whole = runs.train("whole", FIRST_STEPS)
    half = runs.train("half", FIRST_STEPS // 2)
    rest = runs.train("rest", FIRST_STEPS, "--resume", half)
    same = [(folder / "model.safetensors").read_bytes() for folder in (whole, rest)]
    return None if same[0] == same[1] else "a resumed run saves other weights than an unbroken one"


def why_not_translating(runs: Runs, saved: Path, program: Path) -> str | None:
    """From the folder's own configuration and tokenizer."""
    done = execute([program, "generate", "--weights", saved, "--file", runs.folder / "test.txt"])
    if done.code != 0:
        return f"exit code {done.code}: {done.complaint()}"
    (runs.folder / "answers.jsonl").write_text(done.stdout)
    answers = [json.loads(line)["sequences"][0] for line in done.stdout.splitlines()]
    dates = sum(bool(re.fullmatch(r"(19|20)\d\d-\d\d-\d\d", answer)) for answer in answers)
    if dates < SHAPED_LIKE_DATES * len(answers):
        return f"{dates} of {len(answers)} answers look like dates, the first is {answers[0]!r}"
    scored = execute([sys.executable, EXAMPLES / "dates.py", "score", runs.folder / "test.tsv", runs.folder / "answers.jsonl"])
    if not re.search(r"^\d+ of 1000 held-out dates exact", scored.stdout, re.MULTILINE):
        return f"dates.py score: {scored.complaint()}"
    return None


def check(compiler: Path, folder: Path, live: bool, report: Report) -> None:
    runs = Runs(compiler, folder)
    report.add("dates/resumed", why_not_repeatable(runs))
    saved = runs.train("trained", STEPS)
    report.add("dates/loss", why_not_learning(folder / "trained.jsonl"))
    report.add("dates/names", why_not_named(saved, runs.config))
    program = folder / "translator"
    compile_program(compiler, saved, program)
    report.add("dates/generate", why_not_translating(runs, saved, program))
    if live:
        done = execute([sys.executable, EXAMPLES / "same_logits.py", program, saved, folder / "test.tsv"])
        report.add("dates/logits beside PyTorch's", None if done.code == 0 else done.complaint())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--live", action="store_true", help="also ask the installed PyTorch")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(options.compile.resolve(), Path(scratch), options.live, report)
        except RuntimeError as error:
            report.add("dates", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
