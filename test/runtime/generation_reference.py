"""What transformers answers: processed scores, sequences, configurations."""

import warnings
from pathlib import Path

import numpy as np
import torch
from generation_model import TableModel, tokenizer_of
from transformers import GenerationConfig
from transformers.utils import logging

warnings.simplefilter("ignore")
logging.set_verbosity_error()
torch.set_num_threads(1)


def processors_of(settings: dict, prompt: int, limit: int, source: list[int], vocabulary: int):
    """transformers' processors for one row."""
    model = TableModel.empty(vocabulary)
    config, _ = model._prepare_generation_config(None, **settings)
    config.max_length = limit
    if config.min_new_tokens is not None:
        config.min_length = config.min_new_tokens + prompt
    model._prepare_special_tokens(config, True, device="cpu", batch_size=1)
    return model._get_logits_processor(
        generation_config=config, input_ids_seq_length=prompt, encoder_input_ids=torch.tensor([source]))


def processed(settings: dict, row: dict, scores: np.ndarray) -> np.ndarray | None:
    """A row of scores behind the processors; None where top_h takes it badly that no token is left."""
    processors = processors_of(settings, row["prompt"], row["max"], row["source"], len(scores))
    try:
        return processors(torch.tensor([row["tokens"]]), torch.tensor(scores[None]))[0].numpy()
    except ValueError:
        return None


@torch.no_grad()
def sequences(table: np.ndarray, settings: dict, prompts: list[list[int]], words: list[str] | None) -> list:
    """What generate() gives: for each prompt a list of (tokens without padding, score)."""
    model = TableModel.of(table)
    more = {"tokenizer": tokenizer_of(words)} if words else {}
    width = max(map(len, prompts))
    ids = torch.zeros((len(prompts), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    for i, prompt in enumerate(prompts):
        ids[i, width - len(prompt):] = torch.tensor(prompt)
        mask[i, width - len(prompt):] = 1
    beams = settings.get("num_beams", 1) > 1
    out = model.generate(ids, attention_mask=mask, return_dict_in_generate=True, output_scores=beams,
                         **settings, **more)
    each = settings.get("num_return_sequences", 1)
    result = []
    for i, prompt in enumerate(prompts):
        result.append([])
        for j in range(i * each, (i + 1) * each):
            tokens = out.sequences[j, width:].tolist()
            if beams:
                tokens = tokens[:int((out.beam_indices[j] >= 0).sum())]
                score = float(out.sequences_scores[j])
            else:
                ends = settings.get("eos_token_id", [])
                ends = ends if isinstance(ends, list) else [ends]
                stop = next((k for k, token in enumerate(tokens) if token in ends), len(tokens) - 1)
                tokens, score = tokens[:stop + 1], 0
                # A stop string is not seen in the tokens: what follows it is padding.
                while len(tokens) > 1 and "stop_strings" in settings and tokens[-1] == settings["pad_token_id"]:
                    tokens.pop()
            result[-1].append((prompt + tokens, score))
    return result


def configuration(folder: Path, own: bool, fields: list[str]) -> dict:
    """generation_config.json, or where the model has none of its `own` its config.json, with defaults."""
    if own:
        config = GenerationConfig.from_pretrained(folder)
    else:  # as models are loaded
        config = GenerationConfig.from_pretrained(folder, "config.json", _from_model_config=True)
    defaults = {**config._get_default_generation_params(), "max_length": None}
    found = {field: getattr(config, field) for field in fields}
    return {field: defaults.get(field) if value is None else value for field, value in found.items()}
