"""Families of transformers in float64.

transformers rounds RMS norms, rotations, softmax and some scales of a float64 model to float32; here they are
made of doubles.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from importlib import import_module
from unittest import mock

import torch
from transformers.modeling_rope_utils import ROPE_INIT_FUNCTIONS
from transformers.models.deberta_v2 import modeling_deberta_v2
from transformers.models.gptj import modeling_gptj

# The names of modules and of what stands before "RMSNorm" and "RotaryEmbedding" in them.
FAMILIES = {"llama": "Llama", "mistral": "Mistral", "qwen2": "Qwen2", "qwen3": "Qwen3", "phi3": "Phi3", "gemma": "Gemma", "gpt_neox": "GPTNeoX", "t5": "T5"}


def exact_norm(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def exact_gemma_norm(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return (1 + self.weight) * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.eps))


def exact_rotation(self: torch.nn.Module, x: torch.Tensor, position_ids: torch.Tensor) -> tuple:
    kind = self.config.rope_parameters["rope_type"]
    init = self.compute_default_rope_parameters if kind == "default" else ROPE_INIT_FUNCTIONS[kind]
    # The library's own formulas, of which every step is written with one of these names.
    with mock.patch.multiple(torch, float=torch.float64, float32=torch.float64):
        frequencies, scale = init(self.config)
    angles = torch.cat([position_ids[..., None] * frequencies] * 2, -1)
    return angles.cos() * scale, angles.sin() * scale


def exact_positions(count: int, width: int) -> torch.Tensor:
    """GPT-J's table: sines, then cosines."""
    frequencies = 10000.0 ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.arange(count, dtype=torch.float64)[:, None] * frequencies
    return torch.cat([angles.sin(), angles.cos()], 1)


def exact_scale(query: torch.Tensor, factor: int) -> torch.Tensor:
    """DeBERTa's, of which scores are divided."""
    return torch.tensor(query.size(-1) * factor, dtype=torch.float64).sqrt()


class DoubleTorch:
    """The module torch, in which single precision is double precision."""

    float32 = torch.float64

    def __getattr__(self, name: str) -> object:
        return getattr(torch, name)


def exact_loading() -> AbstractContextManager:
    """Inside of it models are made whose tables are exact."""
    return mock.patch.object(modeling_gptj, "create_sinusoidal_positions", exact_positions)


@contextmanager
def exact() -> Iterator[None]:
    """Inside of it models keep the precision of their weights."""
    softmax, old = torch.nn.functional.softmax, []
    torch.nn.functional.softmax = lambda x, dim, dtype=None: softmax(x, dim=dim)
    for module, name in FAMILIES.items():
        classes = import_module(f"transformers.models.{module}.modeling_{module}")
        norm = exact_gemma_norm if name == "Gemma" else exact_norm
        exact_forwards = {"RMSNorm": norm, "RotaryEmbedding": exact_rotation} if name != "T5" else {"LayerNorm": norm}
        for ending, forward in exact_forwards.items():
            if owner := getattr(classes, name + ending, None):
                old.append((owner, owner.forward))
                owner.forward = forward
    try:
        scale = mock.patch.object(modeling_deberta_v2, "scaled_size_sqrt", exact_scale)
        with mock.patch.object(modeling_gptj, "torch", DoubleTorch()), scale:
            yield
    finally:
        torch.nn.functional.softmax = softmax
        for owner, forward in old:
            owner.forward = forward
