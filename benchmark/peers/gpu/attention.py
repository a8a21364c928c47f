"""scaled_dot_product_attention with the backend that the callers of `load` name."""

import torch
from torch.nn.attention import SDPBackend, sdpa_kernel


def load(setup, backend):
    torch.zeros(1, device="cuda")  # a machine without is told here

    def prepare(inputs):
        shape = [int(inputs[name]) for name in ("batch", "heads", "length", "head_dim")]
        causal, times = bool(inputs["causal"]), int(inputs["times"])
        dtype = getattr(torch, str(inputs["dtype"]))
        q, k, v = (torch.randn(shape, device="cuda", dtype=dtype) for _ in range(3))

        @torch.inference_mode()
        def run():
            with sdpa_kernel(getattr(SDPBackend, backend)):
                for _ in range(times):
                    torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
            torch.cuda.synchronize()
            return 0.0

        return run

    return prepare
