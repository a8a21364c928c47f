"""Numbers of unusual kinds: for one linear layer, and put into a checkpoint's weights without changing,
mostly, what the model computes."""

from collections.abc import Callable

import numpy as np

Pair = tuple[np.ndarray, np.ndarray]
Tensors = dict[str, np.ndarray]


def layer_kinds(random: np.random.Generator, rows: int, width: int, outputs: int) -> dict[str, Pair]:
    """x `[rows, width]` and w `[outputs, width]`. Features 6 and 7 are a pair of Winograd's inner product."""
    pair = [6, 7]

    def x() -> np.ndarray:
        return random.standard_normal((rows, width))

    def w() -> np.ndarray:
        return 0.02 * random.standard_normal((outputs, width))

    def larger(values: np.ndarray, columns: list[int], factor: float) -> np.ndarray:
        values[:, columns] *= factor
        return values

    def zeros(values: np.ndarray, share: float) -> np.ndarray:
        return values * (random.random(values.shape) >= share)

    def unlike(spread: float) -> Pair:
        sizes = random.lognormal(0, spread, width)
        return x() * sizes, w() / sizes

    shifted = x()
    shifted[:, pair] += 50
    kinds = {
        "normal": (x(), w()),
        "positive": (np.maximum(x(), 0), w()),
        "around 3": (x() + 3, w()),
        "weights around their spread": (x(), w() + 0.02),
        "three features x 30": (larger(x(), [5, 100, 301], 30), w()),
        "a feature x 1000": (larger(x(), [6], 1000), w()),
        "a feature x 1000, its weights / 1000": (larger(x(), [6], 1000), larger(w(), [6], 1e-3)),
        "a pair x 100, its weights / 100": (larger(x(), pair, 100), larger(w(), pair, 0.01)),
        "a pair around 50": (shifted, w()),
        "lognormal x": (random.lognormal(0, 2, (rows, width)), w()),
        "heavy tails": (random.standard_t(2, (rows, width)), 0.01 * random.standard_t(3, (outputs, width))),
        "rows from 1e-12 to 1e12": (x() * np.logspace(-12, 12, rows)[:, None], w()),
        "columns from 1e-12 to 1e12": (x(), w() * np.logspace(-12, 12, outputs)[:, None]),
        "features lognormal(1), weights inverse": unlike(1),
        "features lognormal(2), weights inverse": unlike(2),
        "features lognormal(1), weights others": (x() * random.lognormal(0, 1, width), w() / random.lognormal(0, 1, width)),
    }
    for factor in (30, 100, 1000):
        kinds[f"a pair x {factor}"] = (larger(x(), pair, factor), w())
    for size in (1e-35, 1e-20, 1e18, 1e30):
        kinds[f"x near {size:g}"] = (x() * size, w())
        kinds[f"x near {size:g}, weights inverse"] = (x() * size, w() / size)
    for share in (0.9, 0.97, 0.999):
        kinds[f"{share:.1%} zeros in x"] = (zeros(x(), share), w())
    for share in (0.9, 0.99):
        kinds[f"{share:.0%} of the weights pruned"] = (x(), zeros(w(), share))
    return kinds


class Layout:
    """A family's names for what the kinds change. `fused` is GPT-2's: weights [in, out], q, k and v in one."""

    def __init__(self, fused: bool, width: int, heads: int):
        self.fused, self.width, self.head = fused, width, width // heads

    def norms(self, tensors: Tensors) -> list[tuple[str, str]]:
        """A norm and the weight of the linear layer that alone reads it."""
        pairs = [("ln_1", "attn.c_attn"), ("ln_2", "mlp.c_fc")] if self.fused else []
        # BERT's norms feed the residual, too: to change them is to change the function.
        pairs = pairs or [("attention.output.LayerNorm", "intermediate.dense")]
        return [(name.removesuffix(f"{norm}.weight"), norm, linear)
                for norm, linear in pairs for name in tensors if name.endswith(f".{norm}.weight")]

    def rows(self, tensors: Tensors, name: str) -> np.ndarray:
        """The weight as [in, out], a view."""
        return tensors[name] if self.fused else tensors[name].T


def model_kinds(layout: Layout) -> dict[str, Callable[[Tensors], None]]:
    """Each changes a checkpoint's tensors in place."""
    pair = [6, 7]

    def gamma(factor: np.ndarray | float, columns: list[int] | slice, inverse: bool) -> Callable[[Tensors], None]:
        def change(tensors: Tensors) -> None:
            for prefix, norm, linear in layout.norms(tensors):
                for part in ("weight", "bias"):
                    tensors[f"{prefix}{norm}.{part}"][columns] *= factor
                if inverse:
                    layout.rows(tensors, f"{prefix}{linear}.weight")[columns] /= np.reshape(factor, (-1, 1))
        return change

    def lognormal(spread: float) -> Callable[[Tensors], None]:
        sizes = np.random.default_rng(1).lognormal(0, spread, layout.width).astype(np.float32)
        return gamma(sizes, slice(None), inverse=True)

    def head_values(tensors: Tensors) -> None:
        first, last = ("attn.c_attn", "attn.c_proj") if layout.fused else ("attention.self.value", "attention.output.dense")
        head = slice(layout.head, 2 * layout.head)
        values = slice(2 * layout.width + head.start, 2 * layout.width + head.stop) if layout.fused else head
        for name in [name for name in tensors if name.endswith(f"{first}.weight")]:
            prefix = name.removesuffix(f"{first}.weight")
            layout.rows(tensors, name)[:, values] *= 100
            tensors[f"{prefix}{first}.bias"][values] *= 100
            layout.rows(tensors, f"{prefix}{last}.weight")[head] /= 100

    def neurons(tensors: Tensors) -> None:
        for name in tensors:
            if name.endswith("mlp.c_fc.bias" if layout.fused else "intermediate.dense.bias"):
                tensors[name][pair] = 50

    def pruned(tensors: Tensors) -> None:
        random = np.random.default_rng(1)
        for name, values in tensors.items():
            if values.ndim == 2 and not any(part in name for part in ("embeddings", "wte", "wpe")):
                values *= random.random(values.shape) >= 0.9

    return {
        "as it is": lambda tensors: None,
        "gamma of a pair x 10": gamma(10, pair, False),
        "gamma of a pair x 50": gamma(50, pair, False),
        "gamma of a pair x 50, weights / 50": gamma(50, pair, True),
        "gamma lognormal(1), weights inverse": lognormal(1),
        "gamma lognormal(2), weights inverse": lognormal(2),
        "a head's values x 100, output weights / 100": head_values,
        "two neurons with a bias of 50": neurons,
        "90% of the weights pruned": pruned,
    }
