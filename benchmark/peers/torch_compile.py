"""torch.compile with the inductor, compiled for each shape (compile time is not counted)."""

import os


def load(setup):
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(setup.cache.parent / setup.isa.file_name("inductor")))
    import torch
    import transformers

    torch.set_num_threads(setup.threads)
    torch.set_num_interop_threads(1)
    torch._inductor.config.freezing = True  # weights are constants: packed ahead, as we do
    if setup.isa.name != "native":
        torch._inductor.config.cpp.march = setup.isa.march
    model = transformers.AutoModel.from_pretrained(setup.checkpoint, attn_implementation="sdpa").eval()
    model = model.to(getattr(torch, setup.dtype))

    def prepare(inputs):
        torch.compiler.reset()
        compiled = torch.compile(model, dynamic=False)
        tensors = {name: torch.from_numpy(value) for name, value in inputs.items()}

        @torch.inference_mode()
        def run():
            return compiled(**tensors).last_hidden_state.float()

        return run

    return prepare
