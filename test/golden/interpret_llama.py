#!/usr/bin/env python3
"""Compares Llama in the reference interpreter with transformers in float64. Needs torch and transformers."""

import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers
from exact import exact

SIZES = {"vocab_size": 50, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 36}
CASES = {
    "grouped": ("LlamaForCausalLM", 500.0, {"num_key_value_heads": 2}),
    "biases": (
        "LlamaForCausalLM",
        1e4,
        {"head_dim": 6, "attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True},
    ),
    "base": ("LlamaModel", 1e4, {"num_key_value_heads": 1, "rms_norm_eps": 1e-5}),
}
BOUND = 1e-7  # the interpreter prints nine digits


def make_model(name: str) -> torch.nn.Module:
    model_class, theta, more = CASES[name]
    rope = {"rope_type": "default", "rope_theta": theta}
    config = transformers.LlamaConfig(**SIZES, **more, rope_parameters=rope, attn_implementation="eager")
    torch.manual_seed(1)
    model = getattr(transformers, model_class)(config)
    with torch.no_grad():
        for key, parameter in model.named_parameters():
            parameter.copy_(torch.randn_like(parameter) * 0.3 + ("norm.weight" in key))
    return model


def expected(model: torch.nn.Module, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """Logits or the last hidden state."""
    with torch.no_grad(), exact():
        return model.double()(input_ids=torch.tensor(ids), attention_mask=torch.tensor(mask))[0].numpy()


def dense(values: np.ndarray, element: str) -> str:
    return f"dense<{json.dumps(values.tolist())}> : tensor<{'x'.join(map(str, values.shape))}x{element}>"


def interpreted(build: Path, model: torch.nn.Module, ids: np.ndarray, mask: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        text = subprocess.run([build / "transformer-import", folder], capture_output=True, text=True, check=True).stdout
        values = {name: tensor.numpy() for name, tensor in model.state_dict().items()}

        def with_value(match: re.Match) -> str:
            return f"{match[0]} {{test.value = {dense(values[match[1]], 'f32')}}}"

        text = re.sub(r"transformer\.parameter @([\w.]+) : .*", with_value, text)
        for name, value in (("input_ids", ids), ("attention_mask", mask)):
            text = text.replace(f'transformer.name = "{name}"', f'test.value = {dense(value, "i64")}, transformer.name = "{name}"')
        run = subprocess.run([build / "transformer-interpret"], input=text, capture_output=True, text=True, check=True)
    return np.array([[float(x) for x in line.split()] for line in run.stdout.splitlines()[2:]])


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=Path("build/bin"), help="folder of the tools")
    build = parser.parse_args().build
    transformers.logging.disable_progress_bar()
    ids = np.random.default_rng(0).integers(0, 50, (3, 9))
    mask = np.ones((3, 9), int)
    mask[0, 6:] = mask[2, :3] = 0
    failed = False
    for name in CASES:
        model = make_model(name)
        got = interpreted(build, model, ids, mask)
        want = expected(model, ids, mask)
        got = got.reshape(want.shape)
        error = np.abs(got - want)[mask == 1].max()
        ok = error < BOUND and not got[mask == 0].any()
        failed |= not ok
        print(f"{name}: error {error:.1e}{'' if ok else '  FAILED'}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
