"""Llama of transformers in float64.

transformers rounds norms, rotations and softmax of a float64 model to float32; here they are made of
doubles.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from transformers.models.llama import modeling_llama


def exact_norm(self: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
    return self.weight * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + self.variance_epsilon))


def exact_rotation(self: torch.nn.Module, x: torch.Tensor, position_ids: torch.Tensor) -> tuple:
    width = self.config.head_dim
    frequencies = self.config.rope_parameters["rope_theta"] ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)
    angles = torch.cat([position_ids[..., None] * frequencies] * 2, -1)
    return angles.cos(), angles.sin()


@contextmanager
def exact_llama() -> Iterator[None]:
    """Inside of it Llama keeps the precision of its weights."""
    softmax = torch.nn.functional.softmax
    norm, rotation = modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward
    torch.nn.functional.softmax = lambda x, dim, dtype=None: softmax(x, dim=dim)
    modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward = exact_norm, exact_rotation
    try:
        yield
    finally:
        torch.nn.functional.softmax = softmax
        modeling_llama.LlamaRMSNorm.forward, modeling_llama.LlamaRotaryEmbedding.forward = norm, rotation
