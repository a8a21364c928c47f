"""PyTorch with transformers' own model and scaled_dot_product_attention."""

import torch
import transformers


def load(setup):
    torch.set_num_threads(setup.threads)
    torch.set_num_interop_threads(1)
    model = transformers.AutoModel.from_pretrained(setup.checkpoint, attn_implementation="sdpa").eval()
    model = model.to(getattr(torch, setup.dtype))

    def prepare(inputs):
        tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}

        @torch.inference_mode()
        def run():
            return model(**tensors).last_hidden_state.float()

        return run

    return prepare
