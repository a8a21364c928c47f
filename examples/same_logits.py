#!/usr/bin/env python3
"""Loads a checkpoint of "model_type": "transformer" into torch.nn.Transformer and compares logits with a program's.

usage: same_logits.py PROGRAM CKPT_DIR PAIRS.tsv   (needs numpy, safetensors, tokenizers and torch)

The program is the checkpoint's, compiled; it is given the first lines of the file as sources and targets. Exit code 1:
its logits differ from PyTorch's in float64 by more than twice what PyTorch's in float32 do.
"""

import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
from safetensors.numpy import load_file as load_arrays
from safetensors.numpy import save_file
from safetensors.torch import load_file
from tokenizers import Tokenizer
from torch import Tensor, nn

ROWS, FACTOR = 64, 2.0


class Translator(nn.Module):
    """What stands around nn.Transformer: embeddings, sinusoids and a generator."""

    def __init__(self, config: dict) -> None:
        super().__init__()
        width = config["d_model"]
        self.scale = math.sqrt(width) if config.get("scale_embedding", True) else 1.0
        self.src_embed = nn.Embedding(config["vocab_size"], width)
        self.tgt_embed = nn.Embedding(config["vocab_size"], width)
        self.transformer = nn.Transformer(
            width, config["nhead"], config["num_encoder_layers"], config["num_decoder_layers"],
            config["dim_feedforward"], batch_first=True,
        )  # fmt: skip
        self.generator = nn.Linear(width, config["vocab_size"])

    def embed(self, ids: Tensor, table: nn.Embedding) -> Tensor:
        x = table(ids) * self.scale
        even = torch.arange(0, x.shape[2], 2, dtype=x.dtype)
        angles = torch.arange(x.shape[1], dtype=x.dtype)[:, None] / 10000 ** (even / x.shape[2])
        return x + torch.stack((angles.sin(), angles.cos()), dim=2).flatten(1)

    def forward(self, source: Tensor, source_mask: Tensor, target: Tensor) -> Tensor:
        causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).triu(1)
        x, y = self.embed(source, self.src_embed), self.embed(target, self.tgt_embed)
        padding = source_mask == 0
        hidden = self.transformer(x, y, tgt_mask=causal, src_key_padding_mask=padding, memory_key_padding_mask=padding)
        return self.generator(hidden)


def read_inputs(folder: Path, config: dict, pairs: Path) -> dict[str, np.ndarray]:
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    rows = [line.split("\t") for line in pairs.read_text().splitlines()[:ROWS]]
    sources = [tokenizer.encode(source).ids for source, _ in rows]
    targets = [[config["bos_token_id"], *tokenizer.encode(target).ids] for _, target in rows]
    width = max(map(len, sources))
    ids = np.array([row + [config["pad_token_id"]] * (width - len(row)) for row in sources])
    mask = np.array([[1] * len(row) + [0] * (width - len(row)) for row in sources])
    return {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": np.array(targets)}


def theirs(folder: Path, config: dict, inputs: dict[str, np.ndarray], dtype: torch.dtype) -> np.ndarray:
    model = Translator(config)
    model.load_state_dict(load_file(folder / "model.safetensors"))
    with torch.no_grad():
        return model.to(dtype).eval()(*map(torch.from_numpy, inputs.values())).double().numpy()


def ours(program: Path, folder: Path, inputs: dict[str, np.ndarray]) -> np.ndarray:
    with tempfile.TemporaryDirectory() as scratch:
        files = Path(scratch) / "in.safetensors", Path(scratch) / "out.safetensors"
        save_file(inputs, files[0])
        command = [program, "run", "--weights", folder, "--inputs", files[0], "--outputs", files[1]]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return load_arrays(files[1])["logits"]


def main() -> int:
    program, folder, pairs = map(Path, sys.argv[1:])
    torch.backends.mha.set_fastpath_enabled(False)
    config = json.loads((folder / "config.json").read_text())
    inputs = read_inputs(folder, config, pairs)
    exact = theirs(folder, config, inputs, torch.float64)
    errors = [np.abs(found - exact).max() for found in (ours(program, folder, inputs), theirs(folder, config, inputs, torch.float32))]
    same = errors[0] <= FACTOR * errors[1]
    print(
        f"logits of {len(exact)} lines, up to {np.abs(exact).max():.0f}: {'as' if same else 'not as'} those of torch.nn.Transformer, "
        f"off by {errors[0]:.1e} from float64 (PyTorch in float32: {errors[1]:.1e})"
    )
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
