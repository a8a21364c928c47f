"""Runs a checkpoint directory by Hugging Face's or PyTorch's own implementation, in float64 or float32."""

import json
import os
from contextlib import nullcontext
from pathlib import Path

os.environ.setdefault("HF_HUB_OFFLINE", "1")

import numpy as np
import torch
import transformers
from compare import compared, is_pooled, max_error, output_mask
from exact import exact, exact_loading
from native_models import NATIVE_MODELS, native_model
from safetensors.torch import load_file

transformers.logging.set_verbosity_error()
transformers.logging.disable_progress_bar()
torch.backends.mha.set_fastpath_enabled(False)

# The outputs that the compiled programs have, by their Hugging Face names.
OUTPUTS = (
    "last_hidden_state", "pooler_output", "logits", "start_logits", "end_logits",
    "prediction_logits", "seq_relationship_logits", "sop_logits",
)

Arrays = dict[str, np.ndarray]


def load_huggingface(checkpoint: Path, dtype: torch.dtype) -> torch.nn.Module:
    """The model that config.json names, the base model without `architectures`; no weight may be missing."""
    config = transformers.AutoConfig.from_pretrained(checkpoint)
    if getattr(config, "reorder_and_upcast_attn", False) and dtype == torch.float64:
        # "Upcast" means float32 there; without it the mathematics are the same.
        config.reorder_and_upcast_attn = False
    names = json.loads((checkpoint / "config.json").read_text()).get("architectures")
    model_class = getattr(transformers, names[0]) if names else transformers.AutoModel
    with exact_loading() if dtype == torch.float64 else nullcontext():
        model, info = model_class.from_pretrained(
            checkpoint, config=config, dtype=dtype, attn_implementation="eager", output_loading_info=True
        )
    for kind in ("missing_keys", "mismatched_keys"):
        if info.get(kind):
            raise ValueError(f"{checkpoint}: {kind}: {sorted(info[kind])}")
    return model.eval()


def native_names(tensors: dict[str, torch.Tensor], model: torch.nn.Module) -> dict[str, torch.Tensor]:
    """Names annotated layer norms as the model does: gamma and beta, or weight and bias."""
    swaps = {"gamma": "weight", "beta": "bias", "weight": "gamma", "bias": "beta"}
    wanted, result = model.state_dict().keys(), {}
    for name, tensor in tensors.items():
        stem, _, last = name.rpartition(".")
        other = f"{stem}.{swaps.get(last, last)}"
        result[other if name not in wanted and other in wanted else name] = tensor
    return result


def load_native(checkpoint: Path, config: dict, dtype: torch.dtype) -> torch.nn.Module:
    model = native_model(config["model_type"], config)
    tensors = native_names(load_file(checkpoint / "model.safetensors"), model)
    missing = model.load_state_dict(tensors, strict=False).missing_keys
    if config.get("tie_word_embeddings"):
        missing = [name for name in missing if name != "generator.weight"]
    if missing:
        raise ValueError(f"{checkpoint}: missing weights: {missing}")
    return model.to(dtype).eval()


def load_model(checkpoint: Path, dtype: torch.dtype) -> torch.nn.Module:
    config = json.loads((checkpoint / "config.json").read_text())
    if config.get("model_type") in NATIVE_MODELS:
        return load_native(checkpoint, config, dtype)
    return load_huggingface(checkpoint, dtype)


def run_model(model: torch.nn.Module, inputs: Arrays) -> Arrays:
    """The model's outputs, unmasked or not, in the model's precision."""
    dtype = next(model.parameters()).dtype
    tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}
    arguments = {name: value.to(dtype) if value.is_floating_point() else value for name, value in tensors.items()}
    if isinstance(model, transformers.PreTrainedModel):
        arguments |= {"return_dict": True}
    with torch.no_grad(), exact() if dtype == torch.float64 else nullcontext():
        result = model(**arguments)
    return {name: result[name].numpy() for name in OUTPUTS if result.get(name) is not None}


class Reference:
    """A checkpoint in float64 and in float32, and what they make of inputs."""

    def __init__(self, checkpoint: Path, config: dict):
        self.config = config
        self.exact, self.single = (load_model(checkpoint, dtype) for dtype in (torch.float64, torch.float32))

    def expected(self, inputs: Arrays) -> tuple[Arrays, dict[str, float]]:
        """The float64 outputs, zero where they do not count, and PyTorch's float32 max abs errors."""
        mask = output_mask(self.config, inputs)
        outputs = run_model(self.exact, inputs)
        errors = self.errors(inputs, outputs, mask)
        return {name: zero_uncompared(name, value, mask) for name, value in outputs.items()}, errors

    def errors(self, inputs: Arrays, outputs: Arrays, mask: np.ndarray) -> dict[str, float]:
        found = run_model(self.single, inputs)
        return {name: max_error(name, found[name], value, mask) for name, value in outputs.items()}


def zero_uncompared(name: str, output: np.ndarray, mask: np.ndarray) -> np.ndarray:
    assert output.dtype == np.float64 and np.isfinite(compared(name, output, mask)).all(), name
    result = np.zeros_like(output)
    where = mask[:, 0] if is_pooled(name, output, mask) else mask
    result[where] = output[where]
    return result
