#!/usr/bin/env python3
"""Training programs beside PyTorch: 100 steps of AdamW with clipping on four batches in turn.

The loss and the norm of the gradients of each step, and the weights at the end, differ from PyTorch's in float64
by at most three times what PyTorch's in float32 do so far, or a few units in the last place; of weights whose
gradient is nothing but rounding (the bias of keys) that can be much. Besides, to the last bit: one thread and two,
--recompute layer, and a run that is stopped in the middle and resumed.

That is without dropout. With it, the mean loss of each quarter of the steps lies where those of five of PyTorch's
seeds do: between the least and the largest, or not farther outside than these are apart.

What PyTorch gives is recorded (`training.safetensors`: float64's curves, rounded weights, and the gaps); with --live
the installed one is asked, with --record its answers are written.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import nullcontext
from pathlib import Path

import numpy as np
from gradients import HERE, Arrays, labels_for, run_cases, trained_names
from safetensors.numpy import load_file, save_file

STEPS, BATCHES, RATE, DECAY, CLIP = 100, 4, 2e-4, 0.01, 1.0
SEEDS, WINDOWS = 5, 4  # of dropout; in which losses are averaged
WITHOUT_VECTOR_DECAY = "bert-masked-lm"  # of biases and norms
BITS_WITH_DROPOUT = "gpt2-lm"  # it drops embeddings, probabilities and what is added
FACTOR, FLOOR = 3.0, 4 * 2.0**-23  # times the gap; of a value


def data_of(case: Path) -> Arrays:
    """The case's inputs with other ids, a batch a step."""
    config = json.loads((case / "config.json").read_text())
    inputs, random = load_file(case / "inputs.safetensors"), np.random.default_rng(7)
    data = {name: np.stack([value] * STEPS) for name, value in inputs.items()}
    data["labels"] = np.stack([labels_for(config, inputs)] * STEPS)
    ids = "decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"
    batches = random.integers(0, config["vocab_size"], (BATCHES, *inputs[ids].shape))
    data[ids] = batches[np.arange(STEPS) % BATCHES]
    return data


def vector_decay(case: Path) -> float:
    return 0 if case.name == WITHOUT_VECTOR_DECAY else DECAY


def curves(case: Path, data: Arrays, name: str, seed: int | None = None) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """PyTorch's losses, norms and last weights in a type, with dropout where there is a seed."""
    import torch
    from reference import load_model

    model = load_model(case, getattr(torch, name)).train(seed is not None)
    if seed is not None:
        torch.manual_seed(seed)
    names = trained_names(model)
    for name, p in model.named_parameters():
        p.requires_grad_(name in names)
    return curves_of(model, data, RATE, vector_decay(case))


def curves_of(model: "torch.nn.Module", data: Arrays, rate: float, decay: float) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """The losses, norms and last weights of a model whose parameters with gradients are trained; `decay` is of vectors."""
    import torch
    from exact import exact

    dtype = next(model.parameters()).dtype
    trained = [p for p in model.parameters() if p.requires_grad]
    vectors = {"params": [p for p in trained if p.ndim < 2], "weight_decay": decay}
    optimizer = torch.optim.AdamW([{"params": [p for p in trained if p.ndim > 1]}, vectors], lr=rate, weight_decay=DECAY)
    losses, norms = [], []
    for step in range(len(data["labels"])):
        tensors = {name: torch.from_numpy(value[step]) for name, value in data.items()}
        arguments = {name: t.to(dtype) if t.is_floating_point() else t for name, t in tensors.items()}
        optimizer.zero_grad()
        with exact() if dtype == torch.float64 else nullcontext():
            loss = model(**arguments).loss
            loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(trained, CLIP).item())
        optimizer.step()
        losses.append(loss.item())
    weights = {name: p.detach().double().numpy() for name, p in model.named_parameters() if p.requires_grad}
    return np.array(losses), np.array(norms), weights


def expected_of(case: Path, data: Arrays, live: bool, record: bool) -> Arrays:
    recorded = case / "training.safetensors"
    if not live and not record:
        return load_file(recorded)
    exact, single = curves(case, data, "float64"), curves(case, data, "float32")
    found = {}
    for name, (a, b) in {"loss": (exact[0], single[0]), "grad_norm": (exact[1], single[1])}.items():
        found |= {name: a, f"{name}.gap": np.abs(a - b)}
    for name, weight in exact[2].items():
        gap = np.abs(weight - single[2][name]).max()
        found |= {f"weights.{name}": weight.astype(np.float32), f"gaps.{name}": np.array(gap)}
    if dropout_rates(case):
        found["dropout_losses"] = np.stack([curves(case, data, "float32", seed)[0] for seed in range(SEEDS)])
    if record:
        save_file(found, recorded)
    return found


def dropout_rates(case: Path) -> list[str]:
    """The fields of the case's config that make a training step drop numbers."""
    config = json.loads((case / "config.json").read_text())
    return [key for key, value in config.items() if ("dropout" in key or key.endswith("_pdrop")) and value]


class Runs:
    """Programs of a case, and what they log and save."""

    def __init__(self, compiler: Path, case: Path, folder: Path):
        self.compiler, self.case, self.folder = compiler, case, folder

    def compile(self, *options: str) -> Path:
        program = self.folder / "-".join(["program", *options])
        self.execute(self.compiler, self.case, "-o", program, "--mode", "train", *options)
        return program

    def train(self, program: Path, name: str, *options: object) -> tuple[list[dict[str, float]], bytes]:
        log, save = self.folder / f"{name}.jsonl", self.folder / name
        data = ("--data", self.folder / "data.safetensors", "--learning-rate", RATE, "--weight-decay", DECAY)
        data += ("--vector-weight-decay", vector_decay(self.case))
        self.execute(program, "train", "-w", self.case, *data, "--log", log, "--save", save, *options)
        lines = [json.loads(line) for line in log.read_text().splitlines()]
        return lines, (save / "model.safetensors").read_bytes()

    @staticmethod
    def execute(*command: object) -> None:
        done = subprocess.run([str(part) for part in command], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{Path(str(command[0])).name}: {done.stderr.strip()[-300:]}")


def compare_curve(found: np.ndarray, expected: np.ndarray, gaps: np.ndarray, what: str) -> float:
    """The largest share of what is allowed."""
    allowed = np.maximum(FACTOR * np.maximum.accumulate(gaps), FLOOR * np.abs(expected))
    shares = np.abs(found - expected) / allowed
    worst = int(shares.argmax())
    if not shares.max() <= 1:
        raise RuntimeError(f"{what} of step {worst + 1}: {found[worst]}, expected {expected[worst]:.9g}")
    return float(shares.max())


def compare_weights(found: Arrays, expected: Arrays) -> float:
    worst = 0.0
    names = [name.removeprefix("weights.") for name in expected if name.startswith("weights.")]
    for name in names:
        if name not in found:
            raise RuntimeError(f"{name}: not saved")
        weight = expected[f"weights.{name}"]
        allowed = max(FACTOR * float(expected[f"gaps.{name}"]), FLOOR * float(np.abs(weight).max()))
        share = float(np.abs(found[name].astype(np.float64) - weight).max()) / allowed
        if not share <= 1:
            raise RuntimeError(f"{name}: {share:.2f} times the allowed difference")
        worst = max(worst, share)
    return worst


def compare_dropout(found: np.ndarray, expected: Arrays) -> None:
    """Raises unless losses with dropout are like those of PyTorch's seeds, and unlike those without it."""
    means = expected["dropout_losses"].reshape(SEEDS, WINDOWS, -1).mean(2)
    low, high = means.min(0), means.max(0)
    spread = high - low

    def inside(losses: np.ndarray) -> np.ndarray:
        mean = losses.reshape(WINDOWS, -1).mean(1)
        return (mean >= low - spread) & (mean <= high + spread)

    if inside(expected["loss"]).all():
        raise RuntimeError("losses without dropout are not told from those with it")
    if not inside(found).all():
        raise RuntimeError(f"mean losses with dropout: {found.reshape(WINDOWS, -1).mean(1)}, expected {low} to {high}")


def check_bits(runs: Runs, *options: object) -> list[dict[str, float]]:
    """What a program logs, if threads, recomputation and a break do not change a bit of it."""
    program = runs.compile(*options)
    lines, saved = runs.train(program, "whole", "--threads", 2)
    if runs.train(program, "one", "--threads", 1) != (lines, saved):
        raise RuntimeError("one thread gives other bits than two")
    if runs.train(runs.compile("--recompute", "layer", *options), "layer") != (lines, saved):
        raise RuntimeError("--recompute layer gives other bits than none")
    runs.train(program, "half", "--steps", STEPS // 2)
    (runs.folder / "rest.jsonl").unlink(missing_ok=True)  # a resumed run appends to it
    rest, end = runs.train(program, "rest", "--resume", runs.folder / "half")
    if end != saved or rest != lines[STEPS // 2 :]:
        raise RuntimeError("a resumed run gives other bits than an unbroken one")
    return lines


def check(compiler: Path, case: Path, live: bool, record: bool) -> str:
    """How near it is; raises what is wrong."""
    data = data_of(case)
    expected = expected_of(case, data, live, record)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, Path(scratch))
        save_file(data, runs.folder / "data.safetensors")
        lines = check_bits(runs, "--dropout", "0")
        shares = [
            compare_curve(np.array([line[what] for line in lines]), expected[what], expected[f"{what}.gap"], what)
            for what in ("loss", "grad_norm")
        ]
        weights = load_file(runs.folder / "whole" / "model.safetensors")
        shares.append(compare_weights(weights, expected))
        given = load_file(case / "model.safetensors")
        if set(weights) != set(given):
            raise RuntimeError(f"other tensors are saved than given: {sorted(set(weights) ^ set(given))[:3]}")
        if dropout_rates(case):
            with_dropout = check_bits(runs) if case.name == BITS_WITH_DROPOUT else runs.train(runs.compile(), "dropout")[0]
            compare_dropout(np.array([line["loss"] for line in with_dropout]), expected)
    drop = f"loss {lines[0]['loss']:.3f} -> {lines[-1]['loss']:.3f}"
    return f"{drop}; of the allowed differences: loss {shares[0]:.2f}, norm {shares[1]:.2f}, weights {shares[2]:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--live", action="store_true", help="ask the installed transformers")
    parser.add_argument("--record", action="store_true", help="ask it and write its answers")
    parser.add_argument("cases", nargs="*", help="golden cases (default: those recorded)")
    options = parser.parse_args()
    cases = options.cases or [path.parent.name for path in sorted(HERE.glob("*/training.safetensors"))]
    compiler = options.compile.resolve()
    return run_cases("train", cases, lambda case: check(compiler, case, options.live, options.record))


if __name__ == "__main__":
    sys.exit(main())
