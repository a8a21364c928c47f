#!/usr/bin/env python3
"""A real checkpoint: sentence embeddings of all-MiniLM-L6-v2 against float64 PyTorch.

The same sentences go through the compiled program, through transformers in float32 and in float64;
our largest error may be twice PyTorch's float32 error. Needs torch, transformers, tokenizers.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from harness import Report, compile_program, execute
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

SENTENCES = [
    "This is an example sentence",
    "Each sentence is converted",
    "A man is eating food.",
    "Wer anderen eine Grube gräbt, fällt selbst hinein.",
    "Hi",
    "The quick brown fox jumps over the lazy dog, and then it sleeps for 3.14 hours in the sun; "
    "nobody minds, since the farm has been quiet for as long as anyone can remember.",
    "Compilers translate programs; this one translates Transformers into native code.",
    "東京は日本の首都です。",
    "What is the capital of France?",
    "E = mc^2 (Einstein, 1905)",
]
FACTOR = 2.0

Arrays = dict[str, np.ndarray]


def tokenize(checkpoint: Path) -> Arrays:
    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(SENTENCES)
    columns = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}
    return {name: np.array([getattr(row, field) for row in rows], np.int64) for name, field in columns.items()}


def pytorch_states(checkpoint: Path, inputs: Arrays, dtype: torch.dtype) -> np.ndarray:
    """[sentences, columns, width]."""
    model = transformers.AutoModel.from_pretrained(checkpoint, dtype=dtype, attn_implementation="eager").eval()
    with torch.no_grad():
        return model(**{name: torch.from_numpy(value) for name, value in inputs.items()}).last_hidden_state.numpy()


def pool(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over the unmasked tokens, then length 1, in the precision of the states: [sentences, width]."""
    weights = mask[:, :, None].astype(states.dtype)
    mean = (states * weights).sum(1) / weights.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def program_states(program: Path, weights: Path, inputs: Arrays, scratch: Path) -> np.ndarray:
    source, result = scratch / "in.safetensors", scratch / "out.safetensors"
    save_file(inputs, source)
    done = execute([program, "run", "--weights", weights, "--inputs", source, "--outputs", result])
    if done.code != 0:
        raise RuntimeError(f"run: exit code {done.code}: {done.complaint()}")
    return load_file(result)["last_hidden_state"]


def program_vector(program: Path, weights: Path, sentence: str) -> list[float]:
    """What `embed` prints for a sentence: a line {"text": ..., "embedding": [...]}."""
    done = execute([program, "embed", "--weights", weights, "--text", sentence])
    if done.code != 0:
        raise RuntimeError(f"embed: exit code {done.code}: {done.complaint()}")
    try:
        return json.loads(done.stdout)["embedding"]
    except (ValueError, TypeError, KeyError):
        raise RuntimeError(f"embed: printed {done.stdout[:100]!r}") from None


def verdict(what: str, ours: float, pytorch: float) -> str | None:
    bound = FACTOR * pytorch
    print(f"{what}: max abs error of ours {ours:.3e}, of PyTorch float32 {pytorch:.3e} (bound {bound:.3e})")
    return None if ours <= bound else f"max abs error {ours:.3e} > {bound:.3e}"


def check(checkpoint: Path, program: Path, scratch: Path, report: Report, with_embed: bool) -> None:
    inputs, weights = tokenize(checkpoint), checkpoint / "model.safetensors"
    mask = inputs["attention_mask"]
    exact, single = (pytorch_states(checkpoint, inputs, dtype) for dtype in (torch.float64, torch.float32))
    ours = program_states(program, weights, inputs, scratch)
    if ours.shape != exact.shape:
        report.add("minilm/last_hidden_state", f"shape {list(ours.shape)}, expected {list(exact.shape)}")
        return
    here = mask != 0
    errors = [float(np.abs(found - exact)[here].max()) for found in (ours, single)]
    report.add("minilm/last_hidden_state", verdict("last_hidden_state", *errors))
    report.add("minilm/padding is zero", "padding positions are not zero" if np.any(ours[~here]) else None)
    vectors = pool(exact, mask)
    errors = [float(np.abs(pool(found, mask) - vectors).max()) for found in (ours, single)]
    report.add("minilm/sentence vectors", verdict("sentence vectors", *errors))
    if with_embed:
        embedded = np.array([program_vector(program, weights, text) for text in SENTENCES])
        report.add("minilm/embed", verdict("embed", float(np.abs(embedded - vectors).max()), errors[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="directory with config.json, model.safetensors, tokenizer.json")
    parser.add_argument("--compile", type=Path, help="transformer-compile")
    parser.add_argument("--program", type=Path, help="a program compiled before, in place of --compile")
    parser.add_argument("--no-embed", action="store_true", help="leave out the `embed` command")
    arguments = parser.parse_args()
    if bool(arguments.compile) == bool(arguments.program):
        parser.error("give --compile or --program")
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        program = (arguments.program or Path(folder) / "program").resolve()
        try:
            if arguments.compile:
                compile_program(arguments.compile.resolve(), arguments.checkpoint, program)
            check(arguments.checkpoint, program, Path(folder), report, not arguments.no_embed)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add("minilm", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
