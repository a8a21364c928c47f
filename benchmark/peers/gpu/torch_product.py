"""A product of matrices by PyTorch, which is cuBLAS: x [M, K] times the transposed w [N, K]."""

import torch


def load(setup):
    torch.zeros(1, device="cuda")  # a machine without is told here

    def prepare(inputs):
        m, n, k, times = (int(inputs[name]) for name in ("M", "N", "K", "times"))
        dtype = getattr(torch, str(inputs["dtype"]))
        x, w = (torch.randn(rows, k, device="cuda", dtype=dtype) for rows in (m, n))
        y = torch.empty(m, n, device="cuda", dtype=dtype)

        def run():
            for _ in range(times):
                torch.matmul(x, w.T, out=y)
            torch.cuda.synchronize()
            return 0.0

        return run

    return prepare
