"""The shapes of the benchmark's tables, and a small BERT of real widths to run them with."""

import json
import sys
from pathlib import Path

import numpy as np
from harness import COMPILE_SECONDS, execute
from safetensors.numpy import save_file

ROOT = Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "examples"))
import random_weights  # noqa: E402

# BERT-base but for its depth and vocabulary; more positions, so that its longest row can be padded.
CONFIG = {
    "model_type": "bert",
    "architectures": ["BertModel"],
    "vocab_size": 1000,
    "hidden_size": 768,
    "num_hidden_layers": 2,
    "num_attention_heads": 12,
    "intermediate_size": 3072,
    "max_position_embeddings": 640,
}


def table_shapes() -> dict[str, list[int]]:
    """The lengths of the rows of every shape in benchmark/runs/bert-base.json."""
    run = json.loads((ROOT / "benchmark" / "runs" / "bert-base.json").read_text())
    shapes = run["shapes"].items()
    return {name: shape.get("lengths") or [shape["length"]] * shape["batch"] for name, shape in shapes}


def make_checkpoint(compiler: Path, folder: Path, config: dict = CONFIG) -> Path:
    """A configuration with random weights: matrices near 1/sqrt(columns), norms near 1, all else near 0.
    Raises RuntimeError when the compiler does not take the configuration."""
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps(config))
    done = execute([compiler, folder / "config.json", "-o", "-", "--emit", "dialect"], COMPILE_SECONDS)
    if done.code != 0:
        raise RuntimeError(f"cannot import {folder}: {done.complaint()}")
    generator, tensors = np.random.default_rng(3), {}
    for name, shape, init in random_weights.parameters(done.stdout):
        spread = shape[-1] ** -0.5 if len(shape) > 1 else 0.2
        values = generator.standard_normal(shape, np.float32) * np.float32(spread)
        tensors[name] = values + np.float32(init == "ones")
    save_file(tensors, folder / "model.safetensors")
    return folder
