"""Evaluates a float32 model with its sums in another order: how much of an error is luck of rounding?"""

from torch import Tensor
from torch.ops import aten
from torch.utils._python_dispatch import TorchDispatchMode


def split_product(x: Tensor, w: Tensor, chunk: int) -> Tensor:
    """x @ w, accumulated over chunks of the inner dimension from the last to the first."""
    total = None
    for start in reversed(range(0, x.shape[-1], chunk)):
        part = x[..., start : start + chunk] @ w[..., start : start + chunk, :]
        total = part if total is None else total + part
    return total


class SplitSums(TorchDispatchMode):
    """Inside this context every matrix product is summed in chunks."""

    def __init__(self, chunk: int):
        super().__init__()
        self.chunk = chunk

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function in (aten.mm.default, aten.bmm.default):
            return split_product(*args, self.chunk)
        if function in (aten.addmm.default, aten.baddbmm.default) and not kwargs:
            return args[0] + split_product(args[1], args[2], self.chunk)
        return function(*args, **kwargs)
