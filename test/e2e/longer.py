"""Golden cases of encoder-decoders with room for sequences of several pages, and tokens to begin them."""

import json
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

POSITIONS = 160
TOKENS = {
    "marian": {"decoder_start_token_id": 30, "pad_token_id": 30},  # the golden case's is none of its vocabulary
    "t5": {"decoder_start_token_id": 0},  # as in all checkpoints; transformers has no default
}
# How many positions the tables of the two sides have. Whisper's encoder always uses all.
FIELDS = {
    "whisper": {"encoder": ("max_source_positions", 70), "decoder": ("max_target_positions", POSITIONS)},
    "annotated_transformer": dict.fromkeys(("encoder", "decoder"), ("max_len", POSITIONS)),
}
NATIVE = ("transformer", "annotated_transformer")
BOTH = dict.fromkeys(("encoder", "decoder"), ("max_position_embeddings", POSITIONS))


def is_encoder_decoder(case: Path) -> bool:
    config = json.loads((case / "config.json").read_text())
    if config["model_type"] in NATIVE:
        return True
    heads = ("ForConditionalGeneration", "MTModel")
    return any(name.endswith(heads) for name in config.get("architectures", []))


def vocabularies(config: dict) -> tuple[int, int]:
    """How many tokens there are in a source and in what is generated."""
    if config["model_type"] == "annotated_transformer":
        return config["enc_voc_size"], config["dec_voc_size"]
    return config["vocab_size"], config.get("tgt_vocab_size", config["vocab_size"])


def longer(case: Path, folder: Path) -> Path:
    """A copy of the case in a new folder; its tables of positions are continued at random."""
    folder.mkdir()
    config = json.loads((case / "config.json").read_text())
    random = np.random.default_rng(5)
    tensors = load_file(case / "model.safetensors")
    sides = FIELDS.get(config["model_type"], BOTH)
    for name in sorted(tensors):
        if name.endswith((".embed_positions.weight", "_pos_embed.weight")):
            field, count = sides["decoder" if "decoder" in name else "encoder"]
            rows = random.normal(0, 0.6, (count - config.get(field, count), tensors[name].shape[1]))
            tensors[name] = np.concatenate([tensors[name], rows.astype(tensors[name].dtype)])
    config |= {field: count for field, count in sides.values() if field in config}
    (folder / "config.json").write_text(json.dumps(config | TOKENS.get(config["model_type"], {})))
    save_file(tensors, folder / "model.safetensors", metadata={"format": "pt"})
    return folder
