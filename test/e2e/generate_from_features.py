#!/usr/bin/env python3
"""`generate` of models whose encoder reads features (Whisper) beside transformers' generate(): the same sequences."""

import sys

import numpy as np
from generate_from_source import SEARCHES, SourceCase
from generation_checks import bench_problem, differs, run
from harness import Report

CONFIGURED = {"num_beams": 4, "early_stopping": True, "suppress_tokens": [3, 7], "begin_suppress_tokens": [5, 6, 9], "max_length": 40}


class FeaturesCase(SourceCase):
    loader = "AutoModelForSpeechSeq2Seq"

    def __init__(self, *how: object) -> None:
        super().__init__(*how)
        config = self.answers.get(f"{self.name}, features", self.name, self.sizes)
        self.shape = (config["mels"], config["frames"])

    def sizes(self) -> dict[str, int]:
        config = self.load().config
        return {"mels": config.num_mel_bins, "frames": 2 * config.max_source_positions}

    def features(self, count: int) -> dict[str, np.ndarray]:
        return {"input_features": np.random.default_rng(13).standard_normal((count, *self.shape)).astype(np.float32)}

    def ask(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> list[list[int]]:
        """Of the method that all models share: Whisper's own begins with tokens of languages and tasks."""
        import torch
        import transformers

        tensors = {name: torch.from_numpy(tensor) for name, tensor in inputs.items()}
        tensors["input_features"] = tensors["input_features"].double()
        settings = ({} if self.new is None else {"max_new_tokens": self.new}) | self.tokens | options
        with torch.no_grad():
            return transformers.GenerationMixin.generate(self.load(), **tensors, **settings).tolist()


def batch_problem(case: FeaturesCase, inputs: dict[str, np.ndarray]) -> str | None:
    """What a row becomes alone, it becomes in a batch."""
    whole = case.generate(inputs, {})
    for row in range(len(whole)):
        alone = case.generate({"input_features": inputs["input_features"][row : row + 1]}, {})
        if problem := differs(alone, whole[row : row + 1, : alone.shape[1]]):
            return f"alone: {problem}"
    return None


def check(case: FeaturesCase, name: str, report: Report) -> None:
    inputs = case.features(4)
    for search, options in SEARCHES.items():
        report.add(f"{name}, {search}", case.problem(inputs, options))
    begun = inputs | {"decoder_input_ids": np.random.default_rng(7).integers(3, case.vocabulary, (4, 3))}
    report.add(f"{name}, decoder_input_ids", case.problem(begun, {}))
    report.add(f"{name}, a configuration", case.configured_problem(inputs, CONFIGURED))
    report.add(f"{name}, alone and in a batch", batch_problem(case, inputs))


BAD = {
    "tokens": ({"input_ids": [[1]]}, [], ("input_ids", "input_features")),
    "features of another shape": ({"input_features": [[[0.5]]]}, [], ("input_features", r"\[batch, 5, 140\]", r"\[1, 1, 1\]")),
    "features that are no floats": ({"input_features": [[[1]]]}, [], ("input_features", "floats", "I64")),
    "nothing": ({"decoder_input_ids": [[1]]}, [], ("missing", "input_features")),
}


def main() -> int:
    return run(__doc__, "generate_from_features_answers.npz", FeaturesCase, check, BAD, {"bench": bench_problem}, "whisper-lm")


if __name__ == "__main__":
    sys.exit(main())
