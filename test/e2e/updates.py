#!/usr/bin/env python3
"""A step's update beside the next step's products: the same bits as an update at the end of its step.

Where a target's registers hide it, a training program begins a step with the update of the one before, each layer
making a part of the next one's. A program that can also take a step in parts (`--accumulate`) does not. Both take the
same steps on data of one token, of ragged rows and of many tokens: losses, norms, weights and moments are to be the
same bits, and so they are where each step is followed by a checkpoint or by an evaluation, where training was resumed,
and with any number of threads."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute
from safetensors.numpy import save_file

STEPS, WORDS = 4, 203
GPT2 = {"model_type": "gpt2", "architectures": ["GPT2LMHeadModel"], "vocab_size": WORDS, "n_positions": 64}
LLAMA = {"model_type": "llama", "architectures": ["LlamaForCausalLM"], "vocab_size": WORDS, "max_position_embeddings": 64}
BERT = {"model_type": "bert", "architectures": ["BertForMaskedLM"], "vocab_size": WORDS, "max_position_embeddings": 64}
MARIAN = {
    "model_type": "marian", "architectures": ["MarianMTModel"], "vocab_size": WORDS, "max_position_embeddings": 64,
    "pad_token_id": 202, "decoder_start_token_id": 202, "eos_token_id": 0, "encoder_attention_heads": 2,
    "decoder_attention_heads": 2}
# Three layers, where the last has none behind it, and more; widths of whole vectors, of some and of less than one; a
# table that is the head's, one that is not; a layer whose weights are not trained.
CASES = {
    "gpt2": (GPT2 | {"n_embd": 64, "n_layer": 4, "n_head": 2}, ()),
    "gpt2, three layers, SGD": (GPT2 | {"n_embd": 48, "n_layer": 3, "n_head": 3}, ("--optimizer", "sgd")),
    "gpt2, two layers": (GPT2 | {"n_embd": 32, "n_layer": 2, "n_head": 2}, ()),
    "gpt2, odd widths": (GPT2 | {"n_embd": 36, "n_inner": 80, "n_layer": 3, "n_head": 2}, ()),
    "gpt2, recomputed": (GPT2 | {"n_embd": 64, "n_layer": 4, "n_head": 2}, ("--recompute", "layer")),
    "llama": (LLAMA | {"hidden_size": 64, "intermediate_size": 176, "num_hidden_layers": 5, "num_attention_heads": 4,
                       "num_key_value_heads": 2}, ()),
    "llama, a frozen layer": (LLAMA | {"hidden_size": 32, "intermediate_size": 96, "num_hidden_layers": 4,
                                       "num_attention_heads": 2}, ("--freeze", "*layers.2.*")),
    "bert": (BERT | {"hidden_size": 96, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 3}, ()),
    "marian": (MARIAN | {"d_model": 32, "encoder_ffn_dim": 64, "decoder_ffn_dim": 64, "encoder_layers": 4,
                         "decoder_layers": 3}, ()),
}
SHAPES = ((1, 1), (3, 11), (4, 64))
MIXED = ("gpt2", "bert")  # with bfloat16 as well, where this CPU has it


def data_of(kind: str, rows: int, tokens: int) -> dict[str, np.ndarray]:
    """Ragged; the longest row is the first."""
    random = np.random.default_rng(rows)
    shape = (STEPS, rows, tokens)
    lengths = np.maximum(1, tokens - 3 * np.arange(rows))
    mask = np.broadcast_to(np.arange(tokens) < lengths[:, None], shape).astype(np.int64)
    data = {"input_ids": random.integers(1, WORDS - 1, shape), "attention_mask": mask}
    data["labels"] = np.where(mask, random.integers(1, WORDS - 1, shape), -100)
    if kind == "marian":
        data |= {f"decoder_{name}": data[name] for name in ("input_ids", "attention_mask")}
    return {name: np.ascontiguousarray(value) for name, value in data.items()}


class Runs:
    def __init__(self, folder: Path, data: Path):
        self.folder, self.data = folder, data

    def train(self, program: Path, name: str, *options: object, threads: int = 2, schedule: str = "linear") -> list:
        """What a run leaves: its log and what its checkpoint holds."""
        saved, log = self.folder / name, self.folder / f"{name}.jsonl"
        command = [program, "train", "--init", 3, "--data", self.data, "--save", saved, "--log", log, "--threads", threads]
        done = execute([*command, "--learning-rate", 0.01, "--schedule", schedule, "--weight-decay", 0.1, *options])
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {done.complaint()}")
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        steps = [(line["step"], line["loss"], line["grad_norm"]) for line in lines if "grad_norm" in line]
        return [steps, *((saved / f"{file}.safetensors").read_bytes() for file in ("model", "training"))]

    def why_not(self, deferred: Path, plain: Path) -> str | None:
        expected = self.train(plain, "plain")
        ways = {
            "at once": lambda: self.train(deferred, "deferred"),
            "one thread": lambda: self.train(deferred, "alone", threads=1),
            "three threads": lambda: self.train(deferred, "three", threads=3),
            "saved often": lambda: self.train(deferred, "saved", "--save-every", 1),
            "evaluated often": lambda: self.train(deferred, "evaluated", "--eval-data", self.data, "--eval-every", 1),
        }
        for way, run in ways.items():
            for what, mine, theirs in zip(("log", "weights", "moments"), run(), expected, strict=True):
                if mine != theirs:
                    return f"{way}: other {what}"
        unbroken = self.train(deferred, "unbroken", schedule="constant")
        half = self.train(deferred, "half", "--steps", 2, schedule="constant")
        rest = self.train(deferred, "half", "--resume", self.folder / "half", schedule="constant")
        if rest[1:] != unbroken[1:] or half[1] == rest[1]:
            return "resumed: other weights"
        return None


def check_case(compiler: Path, case: str, options: tuple[str, ...], report: Report) -> None:
    config, of_case = CASES[case]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        definition = folder / "config.json"
        definition.write_text(json.dumps(config))
        deferred, plain = folder / "deferred", folder / "plain"
        compile_program(compiler, definition, deferred, "--mode", "train", *of_case, *options)
        compile_program(compiler, definition, plain, "--mode", "train", "--accumulate", *of_case, *options)
        for rows, tokens in SHAPES:
            data = folder / f"{rows}x{tokens}.safetensors"
            save_file(data_of(config["model_type"], rows, tokens), data)
            work = folder / f"{rows}x{tokens}"
            work.mkdir()
            name = " ".join(("updates,", case, *options, f"{rows}x{tokens}"))
            report.add(name, Runs(work, data).why_not(deferred, plain))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    options = parser.parse_args()
    report = Report()
    for case in options.cases:
        check_case(options.compile, case, (), report)
    if "avx512_bf16" in Path("/proc/cpuinfo").read_text():
        for case in [case for case in MIXED if case in options.cases]:
            check_case(options.compile, case, ("--mixed-precision", "bf16"), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
