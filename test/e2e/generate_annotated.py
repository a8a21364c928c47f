#!/usr/bin/env python3
"""`generate` of annotated_transformer, which transformers does not have: greedy sequences are those of `forward`, token by
token, for ragged sources with a mask and with that which the definition makes of ids."""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from generation_checks import differs, padded
from harness import GOLDEN, Report, compile_program, execute
from longer import longer, vocabularies
from safetensors.numpy import load_file, save_file

LENGTHS, NEW = (5, 1, 70, 64), 40


class Program:
    def __init__(self, compiler: Path, name: str, folder: Path) -> None:
        self.folder, self.path = folder, folder / "program"
        self.checkpoint = longer(GOLDEN / name, folder / "checkpoint")
        self.config = json.loads((self.checkpoint / "config.json").read_text())
        compile_program(compiler, self.checkpoint, self.path)

    def run(self, command: str, inputs: dict[str, np.ndarray], *options: object) -> dict[str, np.ndarray]:
        files = [self.folder / "in.safetensors", self.folder / "out.safetensors"]
        save_file(inputs, files[0])
        done = execute([self.path, command, "-w", self.checkpoint, "-i", files[0], "-o", files[1], *options])
        if done.code != 0:
            raise RuntimeError(f"{command}: exit code {done.code}: {done.complaint()}")
        return load_file(files[1])

    def greedy(self, sources: dict[str, np.ndarray]) -> np.ndarray:
        """By forward, until each row has ended."""
        start, end, fill = (self.config[name] for name in ("trg_sos_idx", "trg_eos_idx", "trg_pad_idx"))
        sequences = np.full((len(LENGTHS), 1), start)
        ended = np.zeros(len(LENGTHS), bool)
        while sequences.shape[1] <= NEW and not ended.all():
            given = {"decoder_input_ids": sequences, "decoder_attention_mask": np.ones_like(sequences)}
            tokens = np.where(ended, fill, self.run("run", sources | given)["logits"][:, -1].argmax(1))
            ended |= tokens == end
            sequences = np.concatenate([sequences, tokens[:, None]], 1)
        return sequences


def problem(program: Program) -> str | None:
    random, vocabulary = np.random.default_rng(3), vocabularies(program.config)[0]
    fill = program.config["src_pad_idx"]
    sources = padded([random.integers(fill + 1, vocabulary, n) for n in LENGTHS], fill, left=False)
    expected = program.greedy(sources)
    for what, inputs in (("with a mask", sources), ("without a mask", {"input_ids": sources["input_ids"]})):
        found = program.run("generate", inputs, "--max-new-tokens", NEW)["sequences"]
        if different := differs(found, expected):
            return f"{what}: {different}"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="+", help="golden cases of annotated_transformer")
    options = parser.parse_args()
    report = Report()
    for name in options.cases:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                reason = problem(Program(options.compile.resolve(), name, Path(scratch)))
            except RuntimeError as error:
                reason = str(error)
            report.add(f"generate/{name}", reason)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
