"""torch.compile with CUDA graphs; from inputs of the host to a result of the host, as our program."""

import torch
import transformers


def load(setup):
    options = {"attn_implementation": "sdpa", "torch_dtype": torch.bfloat16}
    model = transformers.AutoModel.from_pretrained(setup.checkpoint, **options).eval().to("cuda")

    def prepare(inputs):
        torch.compiler.reset()
        compiled = torch.compile(model, mode="max-autotune", dynamic=False)
        given = {name: torch.from_numpy(value).pin_memory() for name, value in inputs.items()}

        @torch.inference_mode()
        def run():
            tensors = {name: value.to("cuda", non_blocking=True) for name, value in given.items()}
            return compiled(**tensors).last_hidden_state.float().cpu()

        return run

    return prepare
