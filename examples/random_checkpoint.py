#!/usr/bin/env python3
"""A checkpoint with random weights, of a shape that people use, to try and to time text generation.

usage: random_checkpoint.py SHAPE FOLDER --import transformer-import

SHAPE is llama-160m (decoder) or marian-base (encoder-decoder). Writes FOLDER/config.json, model.safetensors,
generation_config.json and a tokenizer.json of made-up words. The same call gives the same files. Needs nothing
but Python, and transformer-import for the names of the tensors.
"""

import argparse
import itertools
import json
import math
import random
import subprocess
import sys
from array import array
from pathlib import Path

from random_weights import center_and_spread, parameters, write_safetensors

LLAMA = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 768, "intermediate_size": 3072,
    "num_hidden_layers": 12, "num_attention_heads": 12, "num_key_value_heads": 12, "max_position_embeddings": 2048,
    "rms_norm_eps": 1e-6, "vocab_size": 32000, "tie_word_embeddings": False, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
MARIAN = {
    "architectures": ["MarianMTModel"], "model_type": "marian", "d_model": 512, "encoder_layers": 6, "decoder_layers": 6,
    "encoder_ffn_dim": 2048, "decoder_ffn_dim": 2048, "encoder_attention_heads": 8, "decoder_attention_heads": 8,
    "max_position_embeddings": 512, "vocab_size": 32001, "activation_function": "swish", "scale_embedding": True,
    "static_position_embeddings": True, "normalize_before": False, "normalize_embedding": False,
    "tie_word_embeddings": True, "share_encoder_decoder_embeddings": True, "pad_token_id": 32000, "eos_token_id": 2,
    "bos_token_id": 1, "decoder_start_token_id": 32000,
}  # fmt: skip
SHAPES = {"llama-160m": LLAMA, "marian-base": MARIAN}
TOKENS = ("bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id")
POOL = 1 << 20


def pieces(count: int) -> list[str]:
    """Special tokens, letters, and words of two and three syllables; "▁" is the space before a word."""
    letters = [chr(c) for c in range(33, 127)]
    syllables = [a + b for a in "bdfghklmnprstvwz" for b in "aeiou"]
    words = ("".join(word) for length in (2, 3) for word in itertools.product(["▁", ""], *[syllables] * length))
    return ["<unk>", "<s>", "</s>", "▁", *letters, *itertools.islice(words, count - 4 - len(letters))]


def tokenizer(config: dict) -> dict:
    found = pieces(config["vocab_size"])
    if "pad_token_id" in config:
        found[config["pad_token_id"]] = "<pad>"
    special = [i for i, piece in enumerate(found) if piece.startswith("<") and len(piece) > 1]
    added = [{"id": i, "content": found[i], "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False} for i in special]  # fmt: skip
    spaces = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": "always", "split": True}
    vocabulary = [[piece, -float(len(found) - len(piece))] for piece in found]
    model = {"type": "Unigram", "unk_id": 0, "vocab": vocabulary, "byte_fallback": False}
    return {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": spaces, "post_processor": None, "decoder": spaces, "model": model}  # fmt: skip


def weights(text: str) -> dict[str, tuple[str, list[int], bytes]]:
    """Random numbers are drawn once; each tensor's begin at a place of its own."""
    generator = random.Random(0)
    pool = [generator.gauss(0, 1) for _ in range(POOL)]
    scaled: dict[tuple[float, float], bytes] = {}
    tensors = {}
    for name, shape, init in parameters(text):
        center, spread = key = center_and_spread(shape, init)
        if key not in scaled:
            scaled[key] = array("f", (center + spread * x for x in pool)).tobytes()
        values, size = scaled[key], 4 * math.prod(shape)
        first = 4 * random.Random(name).randrange(POOL)
        copies = values[first:] + values * (size // len(values) + 1)
        tensors[name] = ("F32", shape, copies[:size])
    return tensors


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("shape", choices=SHAPES)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--import", dest="importer", required=True, help="the program transformer-import")
    options = parser.parse_args()
    config, folder = SHAPES[options.shape], options.folder
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n")
    done = subprocess.run([options.importer, folder / "config.json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    write_safetensors(folder / "model.safetensors", weights(done.stdout))
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer(config), ensure_ascii=False))
    chosen = {name: config[name] for name in TOKENS if name in config}
    (folder / "generation_config.json").write_text(json.dumps(chosen, indent=1) + "\n")


if __name__ == "__main__":
    main()
