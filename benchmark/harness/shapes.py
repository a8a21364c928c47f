"""Inputs of a shape, the same for every peer and for us."""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]


def lengths_of(shape: dict) -> list[int]:
    """Of a shape in a run file: {"batch", "length"} or {"lengths"}."""
    return shape["lengths"] if "lengths" in shape else [shape["length"]] * shape["batch"]


def parse_shape(text: str) -> dict:
    """8x128, for shapes that no run file names."""
    batch, length = text.split("x")
    return {"batch": int(batch), "length": int(length)}


def make_inputs(lengths: list[int], vocabulary: int) -> Arrays:
    """Random ids, padded with zeros to the longest row, and the mask: int64 [batch, longest]."""
    random = np.random.default_rng(0)
    mask = (np.arange(max(lengths))[None, :] < np.array(lengths)[:, None]).astype(np.int64)
    ids = random.integers(5, vocabulary, mask.shape) * mask
    return {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
