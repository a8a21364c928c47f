#!/usr/bin/env python3
"""A real checkpoint: sentence embeddings of all-MiniLM-L6-v2 against float64 PyTorch.

The same sentences go through the compiled program and, once, went through transformers in float32
and float64; our largest error may be twice PyTorch's float32 error. What PyTorch gave is stored in
minilm.safetensors: sentence vectors, the states of each sentence's first and last token, float32's
errors. --live recomputes it, over all tokens, and --store writes it; both need torch, transformers
and tokenizers. Without them: numpy and safetensors.
"""

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute
from safetensors.numpy import load_file, save_file

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
STORED = Path(__file__).with_name("minilm.safetensors")
INPUTS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}

Arrays = dict[str, np.ndarray]


def ends(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The states of each sentence's first and last token: [2 * sentences, width]."""
    rows = np.arange(len(states))
    return np.concatenate([states[:, 0], states[rows, mask.sum(1) - 1]])


def every(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The states of all tokens: [tokens, width]."""
    return states[mask != 0]


def pool(states: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Mean over the unmasked tokens, then length 1, in the precision of the states: [sentences, width]."""
    weights = mask[:, :, None].astype(states.dtype)
    mean = (states * weights).sum(1) / weights.sum(1)
    return mean / np.linalg.norm(mean, axis=1, keepdims=True)


def tokenize(checkpoint: Path) -> Arrays:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(checkpoint / "tokenizer.json"))
    tokenizer.enable_truncation(256)
    tokenizer.enable_padding()
    rows = tokenizer.encode_batch(SENTENCES)
    return {name: np.array([getattr(row, field) for row in rows], np.int64) for name, field in INPUTS.items()}


def pytorch(checkpoint: Path, choose=every) -> Arrays:
    """The inputs, and what PyTorch makes of them: states (of the chosen tokens) and vectors, in
    float64, and the largest errors of float32."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import torch
    import transformers

    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    inputs = tokenize(checkpoint)
    mask = inputs["attention_mask"]
    states = []
    for dtype in (torch.float64, torch.float32):
        model = transformers.AutoModel.from_pretrained(checkpoint, dtype=dtype, attn_implementation="eager").eval()
        with torch.no_grad():
            output = model(**{name: torch.from_numpy(value) for name, value in inputs.items()})
        states.append(output.last_hidden_state.numpy())
    exact, single = states
    return inputs | {
        "states": choose(exact, mask),
        "vectors": pool(exact, mask),
        "states_error": np.abs(every(single, mask) - every(exact, mask)).max().reshape(1),
        "vectors_error": np.abs(pool(single, mask) - pool(exact, mask)).max().reshape(1),
    }


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


def verdict(what: str, found: np.ndarray, exact: np.ndarray, pytorch_error: np.ndarray) -> str | None:
    ours, theirs = float(np.abs(found - exact).max()), float(pytorch_error[0])
    bound = FACTOR * theirs
    print(f"{what}: max abs error of ours {ours:.3e}, of PyTorch float32 {theirs:.3e} (bound {bound:.3e})")
    return None if ours <= bound else f"max abs error {ours:.3e} > {bound:.3e}"


def check(checkpoint: Path, program: Path, scratch: Path, report: Report, arguments: argparse.Namespace) -> None:
    expected = pytorch(checkpoint) if arguments.live else load_file(STORED)
    choose = every if arguments.live else ends
    inputs = {name: expected[name] for name in INPUTS}
    weights, mask = checkpoint / "model.safetensors", inputs["attention_mask"]
    ours = program_states(program, weights, inputs, scratch)
    width = expected["vectors"].shape[1]
    if ours.shape != (*mask.shape, width):
        report.add("minilm/last_hidden_state", f"shape {list(ours.shape)}, expected {[*mask.shape, width]}")
        return
    states = (choose(ours, mask), expected["states"], expected["states_error"])
    report.add("minilm/last_hidden_state", verdict("last_hidden_state", *states))
    report.add("minilm/padding is zero", "padding positions are not zero" if np.any(ours[mask == 0]) else None)
    exact = (expected["vectors"], expected["vectors_error"])
    report.add("minilm/sentence vectors", verdict("sentence vectors", pool(ours, mask), *exact))
    if not arguments.no_embed:
        embedded = np.array([program_vector(program, weights, text) for text in SENTENCES])
        report.add("minilm/embed", verdict("embed", embedded, *exact))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="directory with config.json, model.safetensors, tokenizer.json")
    parser.add_argument("--compile", type=Path, help="transformer-compile")
    parser.add_argument("--program", type=Path, help="a program compiled before, in place of --compile")
    parser.add_argument("--no-embed", action="store_true", help="leave out the `embed` command")
    parser.add_argument("--live", action="store_true", help="recompute the expectations with the installed PyTorch")
    parser.add_argument("--store", action="store_true", help=f"only recompute and write {STORED.name}")
    arguments = parser.parse_args()
    if arguments.store:
        save_file(pytorch(arguments.checkpoint, ends), STORED)
        return 0
    if bool(arguments.compile) == bool(arguments.program):
        parser.error("give --compile or --program")
    report = Report()
    with tempfile.TemporaryDirectory() as folder:
        program = (arguments.program or Path(folder) / "program").resolve()
        try:
            if arguments.compile:
                compile_program(arguments.compile.resolve(), arguments.checkpoint, program)
            check(arguments.checkpoint, program, Path(folder), report, arguments)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add("minilm", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
