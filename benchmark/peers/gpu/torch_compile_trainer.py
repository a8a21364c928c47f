"""The step of torch_eager_trainer on a GPU, forward and backward compiled by the inductor."""

import os


def load(setup):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(setup.compiled)
    import torch

    from peers import torch_eager_trainer

    torch.set_float32_matmul_precision("high")  # what is not bfloat16 may be TF32
    return torch_eager_trainer.load(setup, lambda model: torch.compile(model, dynamic=False), device="cuda")
