#!/usr/bin/env python3
"""`generate` of encoder-decoders beside transformers' generate(): the same sequences, for batches of ragged sources,
of greedy search, beams and what changes scores, on the command line and in generation_config.json."""

import json
import sys
from pathlib import Path

import numpy as np
from generation_checks import Case, bench_problem, differs, padded, run, samples, text_problem
from harness import GOLDEN, Report
from longer import POSITIONS, longer
from recorded import Answers

SEARCHES = {
    "greedy": {},
    "greedy, penalties": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    "beams": {"num_beams": 4},
    "beams, length penalty, all of them": {
        "num_beams": 3, "length_penalty": 1.7, "num_return_sequences": 3, "no_repeat_ngram_size": 2,
    },
}  # fmt: skip
# As in generation_config.json, beside the tokens. Those that look at the source are given a row at a time:
# transformers takes padding for more of it.
CONFIGURED = {
    "a configuration for summaries": {
        "num_beams": 4, "length_penalty": 2.0, "early_stopping": True, "no_repeat_ngram_size": 3,
        "forced_bos_token_id": 5, "min_length": 12, "max_length": 40,
    },
    "beams to the end": {"num_beams": 3, "early_stopping": "never", "length_penalty": -0.5, "no_repeat_ngram_size": 3, "max_new_tokens": 30},
    "what looks at the source": {
        "encoder_repetition_penalty": 1.4, "encoder_no_repeat_ngram_size": 2, "max_new_tokens": 70,
    },
}  # fmt: skip
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "forced_eos_token_id")


class SourceCase(Case):
    """A golden case with more positions, `checkpoint` in its folder."""

    loader = "AutoModelForSeq2SeqLM"
    pads_left = False  # as its tokenizers do; padding in front takes positions

    def __init__(self, name: str, compiler: Path, folder: Path, answers: Answers) -> None:
        super().__init__(name, compiler, folder, answers, longer(GOLDEN / name, folder / "checkpoint"))
        self.tokens = answers.get(f"{name}, tokens", name, self.special_tokens)

    def special_tokens(self) -> dict[str, object]:
        """Of the configuration with its defaults; transformers does not look for them in a file that is shortened."""
        import transformers

        config = transformers.GenerationConfig.from_model_config(self.load().config)
        return {name: getattr(config, name) for name in TOKENS if getattr(config, name) is not None}

    def ask(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> list[list[int]]:
        return super().ask(inputs, self.tokens | options)

    def begin(self, inputs: dict[str, np.ndarray]) -> int:
        return 1

    def configured_problem(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> str | None:
        """All options from a file, none on the command line."""
        settings = self.source / "generation_config.json"
        settings.write_text(json.dumps(self.tokens | options))
        new, self.new = self.new, None
        try:
            return differs(self.generate(inputs, {}), self.expected(inputs, options))
        finally:
            self.new = new
            settings.unlink()


def check(case: SourceCase, name: str, report: Report) -> None:
    random = np.random.default_rng(11)
    sources = [random.integers(0, case.vocabulary, n) for n in case.lengths]
    right = padded(sources, case.fill, left=False)
    for search, options in SEARCHES.items():
        report.add(f"{name}, {search}", case.problem(right, options))
    report.add(f"{name}, padding on the left", case.problem(padded(sources, case.fill), {}))
    begun = right | {"decoder_input_ids": random.integers(3, case.vocabulary, (len(sources), 3))}
    report.add(f"{name}, decoder_input_ids", case.problem(begun, {}))
    for search, options in CONFIGURED.items():
        alone = any(option.startswith("encoder_") for option in options)
        batches = [padded([source], case.fill) for source in sources] if alone else [right]
        problems = [case.configured_problem(batch, options) for batch in batches]
        report.add(f"{name}, {search}", next((problem for problem in problems if problem), None))
    report.add(f"{name}, samples of a batch", samples(case, sources))


BAD = {
    "a token that is none": ({"input_ids": [[10**6]]}, [], ("input_ids", "1000000")),
    "no token": ({"input_ids": [[1]], "attention_mask": [[0]]}, [], ("attention_mask", "only padding")),
    "a source that is too long": ({"input_ids": [[3] * (POSITIONS + 1)]}, [], ("prompt 1", str(POSITIONS), "positions")),
    "too many tokens": ({"input_ids": [[3]]}, ["--max-new-tokens", "1000"], ("prompt 1", "positions")),
    "other rows of the decoder": ({"input_ids": [[3]], "decoder_input_ids": [[3], [4]]}, [], ("decoder_input_ids", "1 row")),
    "an unknown input": ({"input_ids": [[3]], "decoder_ids": [[1]]}, [], ("decoder_ids", "decoder_input_ids")),
}


def main() -> int:
    problems = {"text": text_problem, "bench": bench_problem}
    return run(__doc__, "generate_from_source_answers.npz", SourceCase, check, BAD, problems, "bart-lm")


if __name__ == "__main__":
    sys.exit(main())
