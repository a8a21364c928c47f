#!/usr/bin/env python3
"""`generate` with random settings beside the installed transformers' generate() in float64: the same sequences.

What transformers refuses is not asked; what is refused here must be told by a field's name. Needs torch, transformers
and safetensors.
"""

import json
import os
import random
import sys
import tempfile
from pathlib import Path
from threading import Lock

for folder in ("e2e", "golden"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from exact import exact, exact_loading  # noqa: E402
from harness import GOLDEN, compile_program, execute  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from seeds import ENDS, check_compiled_seeds  # noqa: E402

DECODERS = ("gpt2-lm", "llama-lm", "mistral-lm", "qwen3-lm", "gpt-neox-lm", "gptj-lm", "opt-lm", "phi3-lm", "gemma-lm")
FROM_SOURCE = ("bart-lm", "mbart-lm", "marian-lm", "pegasus-lm", "blenderbot-lm", "t5-lm", "t5-gated")
SETTINGS = {
    "num_beams": lambda draw, vocab: draw.choice([2, 3, 5]),
    "length_penalty": lambda draw, vocab: draw.choice([-1.0, 0.0, 0.6, 2.0]),
    "early_stopping": lambda draw, vocab: draw.choice([True, False, "never"]),
    "num_return_sequences": lambda draw, vocab: draw.choice([1, 2]),
    "repetition_penalty": lambda draw, vocab: draw.choice([0.7, 1.1, 1.5, 3.0]),
    "encoder_repetition_penalty": lambda draw, vocab: draw.choice([0.8, 1.2, 2.0]),
    "no_repeat_ngram_size": lambda draw, vocab: draw.choice([1, 2, 3, 4]),
    "encoder_no_repeat_ngram_size": lambda draw, vocab: draw.choice([1, 2, 3]),
    "min_length": lambda draw, vocab: draw.choice([0, 5, 9]),
    "min_new_tokens": lambda draw, vocab: draw.choice([1, 4, 8]),
    "forced_bos_token_id": lambda draw, vocab: draw.randrange(vocab),
    "forced_eos_token_id": lambda draw, vocab: draw.choice([draw.randrange(vocab), [1, 4]]),
    "suppress_tokens": lambda draw, vocab: draw.sample(range(vocab), 4),
    "begin_suppress_tokens": lambda draw, vocab: draw.sample(range(vocab), 6),
    "remove_invalid_values": lambda draw, vocab: True,
    "renormalize_logits": lambda draw, vocab: True,
    "sequence_bias": lambda draw, vocab: [[[draw.randrange(vocab) for _ in range(draw.choice([1, 1, 2, 3]))], draw.uniform(-9, 9)] for _ in range(3)],
    "bad_words_ids": lambda draw, vocab: [[draw.randrange(vocab) for _ in range(draw.choice([1, 2, 2, 3]))] for _ in range(5)],
    "exponential_decay_length_penalty": lambda draw, vocab: [draw.choice([0, 2, 5]), draw.choice([0.8, 1.1, 1.7])],
    "eos_token_id": lambda draw, vocab: draw.choice([draw.randrange(vocab), draw.sample(range(vocab), 3)]),
    "temperature": lambda draw, vocab: 0.5,
    "top_k": lambda draw, vocab: 3,
    "top_p": lambda draw, vocab: 0.6,
    "use_cache": lambda draw, vocab: False,
    "decoder_start_token_id": lambda draw, vocab: draw.randrange(vocab)}
# Those that look at the tokens of a prompt.
READ_PROMPTS = {"forced_bos_token_id", "repetition_penalty", "encoder_repetition_penalty", "no_repeat_ngram_size", "encoder_no_repeat_ngram_size", "min_length",
                "sequence_bias", "bad_words_ids"}

PYTORCH = Lock()
MODELS: dict[str, tuple[torch.nn.Module, Path]] = {}
SCRATCH = tempfile.TemporaryDirectory()


def model_of(name: str, compiler: Path) -> tuple[torch.nn.Module, Path]:
    if name not in MODELS:
        kind = transformers.AutoModelForCausalLM if name in DECODERS else transformers.AutoModelForSeq2SeqLM
        with exact_loading():
            model = kind.from_pretrained(GOLDEN / name, dtype=torch.float64, attn_implementation="eager").eval()
        program = Path(SCRATCH.name) / name
        compile_program(compiler, GOLDEN / name, program)
        MODELS[name] = model, program
    return MODELS[name]


def random_settings(draw: random.Random, vocab: int) -> dict[str, object]:
    names = draw.sample(sorted(SETTINGS), draw.choice([1, 2, 3, 4]))
    settings = {name: SETTINGS[name](draw, vocab) for name in names}
    if draw.random() < 0.5:
        settings.setdefault("num_beams", draw.choice([2, 4]))
    if settings.get("num_return_sequences", 1) > settings.get("num_beams", 1):
        del settings["num_return_sequences"]
    tokens = {"bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "pad_token_id": 0}
    return tokens | {"max_new_tokens": draw.choice([1, 3, 6, 11])} | settings


def prompts_of(draw: random.Random, vocab: int, settings: dict[str, object]) -> dict[str, np.ndarray]:
    """Several rows with padding on their left, or one where transformers takes padding for more."""
    rows = 1 if READ_PROMPTS & settings.keys() else draw.choice([1, 2, 4])
    lengths = [draw.choice([1, 2, 3]) for _ in range(rows)]
    mask = np.array([[int(column >= max(lengths) - length) for column in range(max(lengths))] for length in lengths])
    ids = np.where(mask, [[draw.randrange(3, vocab) for _ in row] for row in mask], 0)
    return {"input_ids": ids, "attention_mask": mask}


def ask(model: torch.nn.Module, inputs: dict[str, np.ndarray], settings: dict[str, object]) -> np.ndarray:
    tensors = {name: torch.from_numpy(tensor) for name, tensor in inputs.items()}
    model.generation_config = transformers.GenerationConfig(**settings)  # as of a generation_config.json
    with torch.no_grad(), exact():
        return model.generate(**tensors).numpy()


def check(compiler: Path, folder: Path, seed: int) -> str | None:
    draw = random.Random(seed)
    name = draw.choice(DECODERS + FROM_SOURCE)
    with PYTORCH:
        model, program = model_of(name, compiler)
        vocab = model.config.vocab_size
        settings = random_settings(draw, vocab)
        inputs = prompts_of(draw, vocab, settings)
        try:
            expected = ask(model, inputs, settings)
        except Exception:  # whatever it raises for settings that it cannot have
            ENDS["refused by transformers"] += 1
            return None
    what = f"{name}, {json.dumps(settings)}"
    for file in ("model.safetensors", "config.json"):
        (folder / file).symlink_to(GOLDEN / name / file)
    (folder / "generation_config.json").write_text(json.dumps(settings))
    save_file(inputs, folder / "in.safetensors")
    done = execute([program, "generate", "-w", folder, "-i", folder / "in.safetensors", "-o", folder / "out.safetensors"])
    if done.code != 0:
        ENDS["refused: " + done.complaint().split("json: ")[-1]] += 1
        is_named = done.code == 1 and any(field in done.stderr for field in settings)
        return None if is_named else f"{what}: {done.complaint()}"
    found = load_file(folder / "out.safetensors")["sequences"]
    if found.shape != expected.shape or (found != expected).any():
        return f"{what}: prompt {inputs['input_ids'].tolist()}: expected {expected.tolist()}, found {found.tolist()}"
    ENDS["as transformers"] += 1
    return None


def main() -> int:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    torch.set_num_threads(1)
    return check_compiled_seeds("generation", "settings", __doc__, check)


if __name__ == "__main__":
    sys.exit(main())
