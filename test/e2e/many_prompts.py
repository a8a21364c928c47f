#!/usr/bin/env python3
"""`generate` beside transformers' generate() in float64 on many random prompts of each family: ragged, in batches,
greedily and with four beams, with several tokens that end a sequence. Asks the installed transformers; takes minutes."""

import argparse
import json
import shutil
import sys
import tempfile
from pathlib import Path

import numpy as np
from generate_from_features import FeaturesCase
from generate_from_source import SourceCase
from generation_checks import HERE, Case, differs, padded
from harness import GOLDEN, Report
from longer import is_encoder_decoder
from recorded import Answers

CASES = (
    "gpt2-lm openai-gpt-lm llama-lm mistral-lm qwen2-lm qwen3-lm phi3-lm gemma-lm gpt-neox-lm gptj-lm opt-lm bloom-lm "
    "bart-lm mbart-lm marian-lm pegasus-lm blenderbot-lm blenderbot-small-lm t5-lm t5-gated whisper-lm"
).split()
SEARCHES = {"greedy": {}, "4 beams": {"num_beams": 4}}
NEW, LONGEST, BATCH = 40, 12, 10


def make_case(name: str, compiler: Path, folder: Path, answers: Answers) -> Case:
    """The golden case in a folder of its own, to put a generation_config.json in."""
    if is_encoder_decoder(GOLDEN / name):
        kind = FeaturesCase if name.startswith("whisper") else SourceCase
        return kind(name, compiler, folder, answers)
    source = folder / "checkpoint"
    source.mkdir()
    for file in ("config.json", "model.safetensors"):
        shutil.copy(GOLDEN / name / file, source)
    return Case(name, compiler, folder, answers, source)


def check(case: Case, count: int, report: Report) -> tuple[int, int]:
    """How many sequences were compared, and how many of them ended early."""
    random = np.random.default_rng(17)
    new = min(case.new, NEW)
    longest = min(LONGEST, *case.lengths[2:])
    ends = sorted(int(token) for token in random.choice(case.vocabulary, 6, replace=False))
    prompts = [random.integers(0, case.vocabulary, random.integers(1, longest + 1)) for _ in range(count)]
    features = case.features(count)["input_features"] if isinstance(case, FeaturesCase) else None
    size = 1 if case.family == "bloom" else BATCH  # transformers' makes NaN of padding in float64
    model, case.new = case.load(), None
    model.generation_config.eos_token_id = ends
    compared = early = 0
    for search, options in SEARCHES.items():
        settings = case.tokens | options | {"eos_token_id": ends, "pad_token_id": case.fill, "max_new_tokens": new}
        (case.source / "generation_config.json").write_text(json.dumps(settings))
        wrong = None
        for first in range(0, count, size):
            if features is None:
                inputs = padded(prompts[first : first + size], case.fill, case.pads_left)
            else:
                inputs = {"input_features": features[first : first + size]}
            expected = np.array(case.ask(inputs, settings))
            problem = differs(case.generate(inputs, {}), expected)
            wrong = wrong or (problem and f"prompts from {first}: {problem}")
            compared += len(expected)
            early += sum(bool(np.isin(row[case.begin(inputs) : -1], ends).any()) for row in expected)
        report.add(f"{case.name}, {count} prompts, {search}", wrong)
    return compared, early


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--count", type=int, default=100, help="prompts a family (default: 100)")
    parser.add_argument("cases", nargs="*", help="golden cases (default: one of each family that generates)")
    options = parser.parse_args()
    report, totals = Report(), np.zeros(2, int)
    for name in options.cases or CASES:
        with tempfile.TemporaryDirectory() as folder:
            answers = Answers(HERE / "none.npz", True, False)
            totals += check(make_case(name, options.compile, Path(folder), answers), options.count, report)
    print(f"{totals[0]} sequences compared, of which {totals[1]} ended before the last place")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
