"""Inputs of a shape, the same for every peer and for us."""

from __future__ import annotations

import numpy as np

Arrays = dict[str, np.ndarray]

LEARNED = 0.15  # share of the tokens that a masked language model has to find
MASK, IGNORED = 4, -100  # the id in their place, as the made-up vocabulary has it; the label of all others


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


def masked_tokens(mask: np.ndarray) -> np.ndarray:
    """Which tokens a masked language model has to find."""
    real = np.flatnonzero(mask)
    found = np.zeros(mask.shape, bool)
    found.flat[np.random.default_rng(1).choice(real, max(1, round(LEARNED * len(real))), replace=False)] = True
    return found


def make_batch(shape: dict, config: dict) -> Arrays:
    """What a step of training gets: the ids of `make_inputs`, and labels as the model of `config` takes them.

    An encoder-decoder has targets of shape["target"] tokens. There is a mask only where a row is shorter than others.
    """
    inputs = make_inputs(lengths_of(shape), config["vocab_size"])
    ids, mask = inputs["input_ids"], inputs["attention_mask"]
    masks = {} if mask.all() else {"attention_mask": mask}
    if config.get("is_encoder_decoder"):
        targets = np.random.default_rng(1).integers(5, config["vocab_size"], (len(ids), shape["target"]))
        first = np.full((len(ids), 1), config["decoder_start_token_id"])
        return masks | {"input_ids": ids, "decoder_input_ids": np.hstack([first, targets[:, :-1]]), "labels": targets}
    if config["architectures"][0].endswith("ForMaskedLM"):
        masked = masked_tokens(mask)
        return masks | {"input_ids": np.where(masked, MASK, ids), "labels": np.where(masked, ids, IGNORED)}
    return masks | {"input_ids": ids, "labels": np.where(mask, ids, IGNORED)}


def token_count(batch: Arrays) -> int:
    """Real tokens of what is read, source and target."""
    read = batch["attention_mask"].sum() if "attention_mask" in batch else batch["input_ids"].size
    return int(read) + (batch["decoder_input_ids"].size if "decoder_input_ids" in batch else 0)
