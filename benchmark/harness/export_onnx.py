"""The model as ONNX, once, for the peers that read it."""

from __future__ import annotations

import os
from pathlib import Path


def onnx_model(checkpoint: Path, cache: Path) -> Path:
    """Inputs input_ids and attention_mask, dynamic batch and sequence; output last_hidden_state."""
    path = cache / "onnx" / "model.onnx"
    if path.exists():
        return path
    import torch
    import transformers

    class LastHiddenState(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            # Plain matrix products and softmax: what ONNX Runtime's and OpenVINO's fusions look for.
            self.model = transformers.AutoModel.from_pretrained(checkpoint, attn_implementation="eager").eval()

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids=input_ids, attention_mask=attention_mask).last_hidden_state

    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"partial-{os.getpid()}.onnx")
    ids = torch.arange(5, 37).reshape(2, 16)
    mask = torch.ones_like(ids)
    mask[1, 8:] = 0
    dynamic = {0: "batch", 1: "sequence"}
    torch.onnx.export(
        LastHiddenState(),
        (ids, mask),
        str(partial),
        input_names=["input_ids", "attention_mask"],
        output_names=["last_hidden_state"],
        dynamic_axes={"input_ids": dynamic, "attention_mask": dynamic, "last_hidden_state": dynamic},
        opset_version=17,
        dynamo=False,  # the graphs that the fusions of ONNX Runtime know
    )
    os.rename(partial, path)
    return path
