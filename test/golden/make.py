#!/usr/bin/env python3
"""Makes the golden cases: small random checkpoints, inputs, and float64 outputs of Hugging Face or PyTorch.

Everything is drawn from generators that are seeded by the names of the case and the tensor, so that
a second run gives the same files. Needs torch, transformers and safetensors.
"""

import argparse
import json
import math
import sys
import tempfile
import zlib
from pathlib import Path

import numpy as np
import torch
import transformers
from cases import CASES, Case
from compare import expected_name, output_mask
from native_models import NATIVE_MODELS, native_model
from reference import Arrays, Reference
from rounding import SplitSums
from safetensors.numpy import save_file as save_arrays
from safetensors.torch import load_file, save_file

HERE = Path(__file__).resolve().parent

# Inputs are drawn again while the same sums in other orders err more than this many times PyTorch's error.
LUCK = 1.3
ATTEMPTS = 300


def generator(*names: str) -> np.random.Generator:
    return np.random.default_rng(zlib.crc32("/".join(names).encode()))


# --- checkpoint --------------------------------------------------------------------------------


def random_parameter(case: str, name: str, shape: tuple[int, ...]) -> torch.Tensor:
    """Weights large enough that activations, softmax and norms are far from linear."""
    values = generator(case, name).standard_normal(shape)
    last = name.rsplit(".", 1)[-1]
    is_norm_scale = len(shape) == 1 and last in ("weight", "gamma", "a_2")
    if is_norm_scale:
        values = 1 + 0.3 * values
    elif len(shape) == 1:
        values = 0.3 * values
    elif any(word in name for word in ("embed", "wte", "wpe", "tok_emb")):
        values = 0.6 * values
    else:
        values = 1.3 * values / math.sqrt(sum(shape) / 2)
    return torch.from_numpy(values.astype(np.float32))


def fill(case: Case, model: torch.nn.Module) -> None:
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            parameter.copy_(random_parameter(case.name, name, tuple(parameter.shape)))


def config_4(config: dict) -> dict:
    """The configuration as transformers 4.x wrote it."""
    config = dict(config)
    config["torch_dtype"] = config.pop("dtype", "float32")
    config |= {"_name_or_path": "golden", "transformers_version": "4.30.2"}
    if config["model_type"] in ("bert", "roberta"):
        config |= {"position_embedding_type": "absolute", "gradient_checkpointing": False}
        for name in ("is_decoder", "add_cross_attention", "tie_word_embeddings"):
            if config[name] == type(transformers.BertConfig()).__dict__[name]:
                del config[name]
    if "rope_parameters" in config:
        rope = config.pop("rope_parameters")
        is_neox = config["model_type"] == "gpt_neox"
        config["rotary_emb_base" if is_neox else "rope_theta"] = rope.pop("rope_theta")
        if "partial_rotary_factor" in rope:
            config["rotary_pct" if is_neox else "partial_rotary_factor"] = rope.pop("partial_rotary_factor")
        config["rope_scaling"] = None if rope["rope_type"] == "default" else rope
        config.pop("layer_types", None)
    if config["model_type"] == "llama":
        config["pretraining_tp"] = 1
    if config["model_type"] in ("gpt2", "openai-gpt"):
        config |= {"n_ctx": config["n_positions"], "predict_special_tokens": True}
    return config


def short_config(case: Case, config: dict) -> dict:
    """Only what differs from the family's defaults."""
    default = type(transformers.AutoConfig.for_model(config["model_type"]))()
    kept = {name: value for name, value in case.config.items() if value != getattr(default, name, None)}
    head = {"model_type": config["model_type"]}
    if case.config_form != "short-base":
        head["architectures"] = config["architectures"]
    return head | kept


def save_huggingface(case: Case, directory: Path) -> tuple[dict, dict[str, torch.Tensor]]:
    """What save_pretrained writes: the configuration and the tensors."""
    model_class = getattr(transformers, case.model)
    model = model_class(model_class.config_class(**case.config))
    fill(case, model)
    model.to(case.dtype).save_pretrained(directory)
    config = json.loads((directory / "config.json").read_text())
    if case.config_form == "4":
        config = config_4(config)
    elif case.config_form.startswith("short"):
        config = short_config(case, config)
    return config, load_file(directory / "model.safetensors")


def save_native(case: Case) -> tuple[dict, dict[str, torch.Tensor]]:
    model = native_model(case.model, case.config)
    fill(case, model)
    tensors = {name: tensor.detach().clone() for name, tensor in model.state_dict().items()}
    if case.config.get("tie_word_embeddings"):
        del tensors["generator.weight"]
    return {"model_type": case.model} | case.config, tensors


def write_checkpoint(case: Case, directory: Path) -> dict:
    with tempfile.TemporaryDirectory() as scratch:
        native = case.model in NATIVE_MODELS
        config, tensors = save_native(case) if native else save_huggingface(case, Path(scratch))
    tensors = {name: tensor.contiguous() for name, tensor in case.rewrite(tensors).items()}
    save_file(tensors, directory / "model.safetensors", metadata={"format": "pt"})
    (directory / "config.json").write_text(json.dumps(config, indent=2) + "\n")
    return config


# How the names of classes and native definitions with two sides begin.
ENCODER_DECODERS = ("transformer", "annotated_transformer", "Bart", "MBart", "Marian", "Pegasus", "Blenderbot", "T5Model", "T5For", "Whisper")

# --- inputs ------------------------------------------------------------------------------------


def make_mask(set_name: str, lengths: tuple[int, ...]) -> np.ndarray:
    """[rows, columns]: right or left padding by the lengths; holes and a fully masked last row."""
    columns = np.arange(max(lengths))
    sizes = np.array(lengths)[:, None]
    if set_name == "inputs_left":
        return (columns >= columns.size - sizes).astype(np.int64)
    mask = (columns < sizes).astype(np.int64)
    if set_name == "inputs_holes":
        mask[:, 1::3] = 0
        mask[1, 0] = 0
        mask[-1] = 0
    return mask


def make_ids(random: np.random.Generator, vocab: int, mask: np.ndarray, pad: int, padded: bool) -> np.ndarray:
    """Random ids other than the padding id; the padding id at masked positions when `padded`."""
    ids = random.integers(0, vocab - 1, mask.shape)
    ids += ids >= pad
    return np.where(mask == 0, pad, ids) if padded else ids


def encoder_decoder_inputs(random: np.random.Generator, case: Case, set_name: str, config: dict) -> Arrays:
    annotated = case.model == "annotated_transformer"
    if annotated:
        vocabs, pads = (config["enc_voc_size"], config["dec_voc_size"]), (config["src_pad_idx"], config["trg_pad_idx"])
    else:
        target = config.get("tgt_vocab_size") or config.get("decoder_vocab_size") or config["vocab_size"]
        vocabs, pads = (config["vocab_size"], target), (0, 0)
    inputs = {}
    if "num_mel_bins" in case.config:
        frames = (len(case.lengths), case.config["num_mel_bins"], 2 * case.config["max_source_positions"])
        inputs["input_features"] = random.standard_normal(frames, np.float32)
    for prefix, vocab, pad, lengths in zip(("", "decoder_"), vocabs, pads, (case.lengths, case.decoder_lengths)):
        if prefix == "" and inputs:
            continue
        mask = make_mask(set_name, lengths)
        ids = make_ids(random, vocab, mask, pad, padded=annotated and set_name != "inputs_masks")
        inputs[prefix + "input_ids"] = ids
        if set_name == "inputs_masks":
            ids[0, 1] = pad  # a given mask decides, not the id
        if set_name == "inputs_masks" or not annotated:
            inputs[prefix + "attention_mask"] = mask
    if set_name == "inputs_bare":
        inputs = {name: value for name, value in inputs.items() if "mask" not in name}
    return inputs


def encoder_inputs(random: np.random.Generator, case: Case, set_name: str, config: dict) -> Arrays:
    vocab = case.config["vocab_size"]
    pad = {"roberta": 1}.get(config["model_type"], 0)
    from_ids = case.model == "bert_pytorch" and set_name != "inputs_masks"
    mask = make_mask(set_name, case.lengths)
    ids = make_ids(random, vocab, mask, pad, padded=from_ids or set_name in ("inputs", "inputs_left"))
    if set_name in ("inputs_masks", "inputs_bare"):
        ids[0, 2] = pad  # a padding id that the mask does not hide
    if config["model_type"] == "roberta" and set_name in ("inputs", "inputs_holes"):
        ids[0, 3] = ids[1, 2] = pad  # positions skip padding ids, whatever the mask says
    inputs = {"input_ids": ids}
    if not from_ids:
        inputs["attention_mask"] = mask
    segments = {"deberta-v2": case.config.get("type_vocab_size"), "bert": case.config.get("type_vocab_size", 2), "electra": 2, "albert": 2, "bert_pytorch": 3}.get(config["model_type"])
    if segments:
        inputs["token_type_ids"] = random.integers(0, segments, mask.shape)
    if set_name == "inputs_bare":
        inputs = {"input_ids": ids}
    if set_name == "inputs_positions":
        limit = case.config.get("max_position_embeddings") or case.config["n_positions"]
        inputs["position_ids"] = random.integers(0, limit, mask.shape)
    return inputs


def image_inputs(random: np.random.Generator, case: Case, set_name: str, config: dict) -> Arrays:
    size = case.config["image_size"]
    height, width = size if isinstance(size, list) else (size, size)
    shape = (len(case.lengths), case.config.get("num_channels", 3), height, width)
    inputs = {"pixel_values": random.standard_normal(shape, np.float32)}
    if set_name != "inputs_bare":
        inputs["attention_mask"] = make_mask(set_name, case.lengths)
    return inputs


def make_inputs(case: Case, set_name: str, config: dict, attempt: int) -> Arrays:
    make = encoder_decoder_inputs if case.model.startswith(ENCODER_DECODERS) else encoder_inputs
    if "image_size" in case.config:
        make = image_inputs
    inputs = make(generator(case.name, set_name, str(attempt)), case, set_name, config)
    return {name: value if value.dtype == np.float32 else value.astype(np.int64) for name, value in inputs.items()}


# --- expectations ------------------------------------------------------------------------------


def is_typical(reference: Reference, inputs: Arrays, outputs: Arrays, errors: dict[str, float]) -> bool:
    """Whether PyTorch with its sums in other orders errs about as much: else its error was luck, no bound."""
    mask = output_mask(reference.config, inputs)
    for chunk in (3, 4, 7):
        with SplitSums(chunk):
            others = reference.errors(inputs, outputs, mask)
        if any(others[name] > LUCK * errors[name] for name in errors):
            return False
    return True


def draw_inputs(case: Case, set_name: str, reference: Reference) -> tuple[Arrays, Arrays, dict[str, float]]:
    """Draws inputs until PyTorch's float32 error on them is a typical one."""
    for attempt in range(ATTEMPTS):
        inputs = make_inputs(case, set_name, reference.config, attempt)
        expected, errors = reference.expected(inputs)
        if is_typical(reference, inputs, expected, errors):
            return inputs, expected, errors
    raise RuntimeError(f"{case.name} {set_name}: no typical inputs in {ATTEMPTS} draws")


def make_case(case: Case, root: Path) -> None:
    directory = root / case.name
    directory.mkdir(parents=True, exist_ok=True)
    for old in directory.iterdir():
        old.unlink()
    reference = Reference(directory, write_checkpoint(case, directory))
    bounds = {}
    for set_name in case.inputs:
        inputs, expected, bounds[set_name] = draw_inputs(case, set_name, reference)
        save_arrays(inputs, directory / f"{set_name}.safetensors")
        save_arrays(expected, directory / f"{expected_name(set_name)}.safetensors")
    (directory / "bounds.json").write_text(json.dumps(bounds, indent=2) + "\n")
    for file in directory.iterdir():
        file.chmod(0o644)  # safetensors makes them private
    size = sum(file.stat().st_size for file in directory.iterdir())
    worst = max(error for outputs in bounds.values() for error in outputs.values())
    print(f"{case.name:36} {size / 1024:6.1f} KiB  float32 error {worst:.2e}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", help="names of the cases to make (default: all)")
    parser.add_argument("--out", type=Path, default=HERE, help="directory to write the cases to (default: here)")
    arguments = parser.parse_args()
    unknown = set(arguments.cases) - {case.name for case in CASES}
    if unknown:
        parser.error(f"no such case: {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    for case in CASES:
        if not arguments.cases or case.name in arguments.cases:
            make_case(case, arguments.out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
