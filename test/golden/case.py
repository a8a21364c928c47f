"""What a golden case is: the configuration, how the checkpoint is stored, and its input sets."""

from collections.abc import Callable
from dataclasses import dataclass

import torch

Tensors = dict[str, torch.Tensor]


def same(tensors: Tensors) -> Tensors:
    return tensors


@dataclass
class Case:
    name: str
    # Class in transformers, or the model_type of a native definition.
    model: str
    config: dict
    # "5": as transformers 5 writes it, "4": as 4.x did, "short": without the fields that equal the
    # default, "short-base": also without `architectures`.
    config_form: str = "5"
    # Makes the stored tensors from those that save_pretrained or state_dict gives.
    rewrite: Callable[[Tensors], Tensors] = same
    dtype: torch.dtype = torch.float32
    inputs: tuple[str, ...] = ("inputs",)
    # Tokens in each row of the inputs; the longest row has no padding.
    lengths: tuple[int, ...] = (6, 9, 1, 4)
    # The same for the decoder of encoder-decoder families.
    decoder_lengths: tuple[int, ...] = (8, 3, 6, 1)


ALL_SETS = ("inputs", "inputs_left", "inputs_holes", "inputs_bare", "inputs_positions")
POOLED_LENGTHS = (7, 9, 1, 4, 8, 2)  # more rows where an output has one vector a row
