"""The same step with forward and backward compiled by the inductor for the batch's shape."""

import os


def load(setup):
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = str(setup.compiled)
    import torch

    from peers import torch_eager_trainer

    if setup.isa.name != "native":
        torch._inductor.config.cpp.march = setup.isa.march
    return torch_eager_trainer.load(setup, lambda model: torch.compile(model, dynamic=False))
