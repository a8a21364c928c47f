#!/usr/bin/env python3
"""Training programs beside PyTorch: 100 steps of an optimizer with clipping on four batches in turn.

The loss and the norm of the gradients of each step, and the weights at the end, differ from PyTorch's in float64
by at most three times what PyTorch's in float32 do so far (of the first step of each batch together: a single gap may be
next to nothing by chance), or a few units in the last place. Numbers whose gradient
is nothing but rounding (the bias of keys) go where chance leads: AdamW, which divides a gradient by its own size, makes
steps of up to the rate of it, and so many of either sign lead as far as the root of their number, three times that
being allowed; of other optimizers it is the most of all such numbers of the model. Numbers beside them in a tensor have
the most of all other tensors. Besides, to the last bit: one thread and two,
--recompute layer (of AdamW), and a run that is stopped in the middle and resumed.

That is without dropout. With it, the mean loss of each quarter of the steps lies where those of five of PyTorch's
seeds do: between the least and the largest, or not farther outside than these are apart. (Of two cases it is twenty:
their first five are far closer to each other than so many are.)

What PyTorch gives is recorded (`training.safetensors`, of other optimizers than AdamW `training-NAME.safetensors`:
float64's curves, rounded weights, and the gaps, of ViT the largest of several runs in float32, of the others one run's);
with --live the installed one is asked, with --record its answers are written.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from gradients import HERE, Arrays, labels_for, leave_out_padding, loss_of, names_of_files, run_cases, trained_names
from safetensors.numpy import load_file, save_file

sys.path.append(str(HERE.parent / "e2e"))
from harness import compile_program  # noqa: E402

STEPS, BATCHES, DECAY, CLIP = 100, 4, 0.01, 1.0
SEEDS, WINDOWS = 5, 4  # of dropout; in which losses are averaged
MORE_SEEDS = {"deberta-masked-lm": 20, "bert-question-answering": 20}
WITHOUT_VECTOR_DECAY = "bert-masked-lm"  # of biases and norms
BITS_WITH_DROPOUT = "gpt2-lm"  # it drops embeddings, probabilities and what is added
PADDING = 0  # of golden cases
FACTOR, FLOOR = 3.0, 4 * 2.0**-23  # times the gap; of a value
STILL = 1e-3  # of the rate, in all steps: less than any gradient makes of it in one
EPS1 = 1e-4  # more than the rounding that is all there is to the gradient of a key's bias


@dataclass(frozen=True)
class Optimizer:
    torch_name: str
    rate: float
    torch_options: dict[str, object]
    options: tuple[object, ...]  # the same for a program


OPTIMIZERS = {
    "adamw": Optimizer("AdamW", 2e-4, {}, ()),
    "sgd": Optimizer("SGD", 0.02, {"momentum": 0.9}, ("--momentum", 0.9)),
    "adafactor": Optimizer(
        "Adafactor",
        3e-3,
        {"beta2_decay": -0.7, "eps": (EPS1, 0.25), "d": 1.1},
        ("--beta2-decay", -0.7, "--eps1", EPS1, "--eps2", 0.25, "--clip-threshold", 1.1),
    ),
}


def config_of(case: Path) -> dict:
    return json.loads((case / "config.json").read_text())


def data_of(case: Path) -> tuple[Arrays, Arrays]:
    """The case's inputs with other ids, or another picture, a batch a step; its labels."""
    config = config_of(case)
    inputs, random = load_file(case / "inputs.safetensors"), np.random.default_rng(7)
    data = {name: np.stack([value] * STEPS) for name, value in inputs.items()}
    labels = {name: np.stack([value] * STEPS) for name, value in labels_for(config, inputs).items()}
    varied = next(name for name in ("decoder_input_ids", "input_ids", "pixel_values") if name in inputs)
    shape = (BATCHES, *inputs[varied].shape)
    if varied == "pixel_values":
        batches = random.standard_normal(shape, np.float32)
    else:
        ids = next(config[key] for key in ("tgt_vocab_size", "dec_voc_size", "vocab_size") if key in config)
        batches = random.integers(0, ids, shape)
        if "attention_mask" not in inputs:  # the definition's own padding stays where it is
            batches = np.where(inputs[varied] == PADDING, PADDING, np.maximum(batches, PADDING + 1))
    data[varied] = batches[np.arange(STEPS) % BATCHES]
    return data, labels


def first_steps(case: Path, count: int) -> Arrays:
    """What a program is given for the first steps: inputs and labels."""
    data, labels = data_of(case)
    return {name: value[:count] for name, value in (data | labels).items()}


def vector_decay(case: Path) -> float:
    return 0 if case.name == WITHOUT_VECTOR_DECAY else DECAY


def curves(
    case: Path, data: Arrays, labels: Arrays, name: str, chosen: Optimizer, seed: int | None = None
) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """PyTorch's losses, norms and last weights in a type, with dropout where there is a seed."""
    import torch
    from reference import load_model

    model = load_model(case, getattr(torch, name)).train(seed is not None)
    if seed is not None:
        torch.manual_seed(seed)
    if "start_positions" in labels:
        leave_out_padding(model, torch.from_numpy(data["attention_mask"][0]))
    names = trained_names(model)
    for name, p in model.named_parameters():
        p.requires_grad_(name in names)
    return curves_of(model, config_of(case), data, labels, chosen, vector_decay(case))


def curves_of(
    model: "torch.nn.Module", config: dict, data: Arrays, labels: Arrays, chosen: Optimizer, decay: float
) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """The losses, norms and last weights of a model whose parameters with gradients are trained; `decay` is of vectors."""
    import torch

    trained = [p for p in model.parameters() if p.requires_grad]
    vectors = {"params": [p for p in trained if p.ndim < 2], "weight_decay": decay}
    groups = [{"params": [p for p in trained if p.ndim > 1]}, vectors]
    make = getattr(torch.optim, chosen.torch_name)
    optimizer = make(groups, lr=chosen.rate, weight_decay=DECAY, **chosen.torch_options)
    return curves_by(optimizer, [chosen.rate] * len(next(iter(labels.values()))), CLIP, model, config, data, labels)


def curves_by(
    optimizer: "torch.optim.Optimizer", rates: list[float], clip: float, model: "torch.nn.Module", config: dict, data: Arrays, labels: Arrays
) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """Of a step at each rate, by an optimizer of the model's parameters with gradients."""
    import torch
    from exact import exact

    trained = [p for p in model.parameters() if p.requires_grad]
    is_exact = next(model.parameters()).dtype == torch.float64
    losses, norms = [], []
    for step, rate in enumerate(rates):
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        of_step = [{name: value[step] for name, value in given.items()} for given in (data, labels)]
        with exact() if is_exact else nullcontext():
            loss = loss_of(model, config, *of_step)
            loss.backward()
        norms.append(torch.nn.utils.clip_grad_norm_(trained, clip).item())
        optimizer.step()
        losses.append(loss.item())
    weights = names_of_files(model, {name: p.detach() for name, p in model.named_parameters() if p.requires_grad})
    weights = {name: tensor.double().numpy() for name, tensor in weights.items()}
    return np.array(losses), np.array(norms), weights


def single_curves(case: Path, data: Arrays, labels: Arrays, chosen: Optimizer) -> Iterator[tuple[np.ndarray, np.ndarray, Arrays]]:
    """PyTorch's in float32, by each of its ways to add: with oneDNN and without, by one thread and by two. A gap of
    one run may be next to nothing by chance: in ViT's second step with SGD those of the norm are 5e-8 to 3e-7 of it."""
    import torch

    before = torch.get_num_threads()
    for with_onednn in (True, False):
        for threads in (1, 2):
            torch.set_num_threads(threads)
            with torch.backends.mkldnn.flags(enabled=with_onednn):
                yield curves(case, data, labels, "float32", chosen)
    torch.set_num_threads(before)


def expected_of(case: Path, data: Arrays, labels: Arrays, optimizer: str, live: bool, record: bool) -> Arrays:
    recorded = case / ("training.safetensors" if optimizer == "adamw" else f"training-{optimizer}.safetensors")
    if not live and not record:
        return load_file(recorded)
    chosen = OPTIMIZERS[optimizer]
    exact = curves(case, data, labels, "float64", chosen)
    singles = list(single_curves(case, data, labels, chosen))
    found = {}
    for i, name in enumerate(("loss", "grad_norm")):
        found |= {name: exact[i], f"{name}.gap": np.max([np.abs(exact[i] - single[i]) for single in singles], 0)}
    for name, weight in exact[2].items():
        gap = max(np.abs(weight - single[2][name]).max() for single in singles)
        found |= {f"weights.{name}": weight.astype(np.float32), f"gaps.{name}": np.array(gap)}
    if optimizer == "adamw" and dropout_rates(case):
        seeds = range(MORE_SEEDS.get(case.name, SEEDS))
        found["dropout_losses"] = np.stack([curves(case, data, labels, "float32", chosen, seed)[0] for seed in seeds])
    if record:
        save_file(found, recorded)
    return found


def dropout_rates(case: Path) -> list[str]:
    """The fields of the case's config that make a training step drop numbers."""
    return [key for key, value in config_of(case).items() if ("dropout" in key or key.endswith("_pdrop")) and value]


class Runs:
    """Programs of a case, and what they log and save."""

    def __init__(self, compiler: Path, case: Path, optimizer: str, folder: Path):
        self.compiler, self.case, self.optimizer, self.folder = compiler, case, optimizer, folder

    def compile(self, *options: str, verify_each: bool = False) -> Path:
        program = self.folder / "-".join(["program", *options])
        mode = ("--mode", "train", "--optimizer", self.optimizer)
        compile_program(self.compiler, self.case, program, *mode, *options, verify_each=verify_each)
        return program

    def train(self, program: Path, name: str, *options: object) -> tuple[list[dict[str, float]], bytes]:
        log, save = self.folder / f"{name}.jsonl", self.folder / name
        chosen = OPTIMIZERS[self.optimizer]
        data = ("--data", self.folder / "data.safetensors", "--learning-rate", chosen.rate, "--weight-decay", DECAY)
        data += ("--vector-weight-decay", vector_decay(self.case), *chosen.options)
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
    so_far = np.maximum.accumulate(gaps)
    so_far[:BATCHES] = so_far[BATCHES - 1]
    allowed = np.maximum(FACTOR * so_far, FLOOR * np.abs(expected))
    shares = np.abs(found - expected) / allowed
    worst = int(shares.argmax())
    if not shares.max() <= 1:
        raise RuntimeError(f"{what} of step {worst + 1}: {found[worst]}, expected {expected[worst]:.9g}")
    return float(shares.max())


def stays(weight: np.ndarray, given: np.ndarray, rate: float, decay: float) -> np.ndarray:
    """Which numbers of float64's biases decay has moved at most: their gradient is nothing but rounding."""
    return (np.abs(weight - given * (1 - rate * decay) ** STEPS) < STILL * rate) & (weight.ndim == 1)


def compare_weights(found: Arrays, expected: Arrays, given: Arrays, rate: float, decay: float, normalized: bool = True) -> float:
    """`decay` is of vectors; `normalized`: whether a step has about the rate's size; the largest share of what is allowed."""
    worst = 0.0
    names = [name.removeprefix("weights.") for name in expected if name.startswith("weights.")]
    weights = {name: expected[f"weights.{name}"].astype(np.float64) for name in names}
    gaps = {name: float(expected[f"gaps.{name}"]) for name in names}
    still = {name: stays(weight, given[name], rate, decay) for name, weight in weights.items()}
    of_still = max((gaps[name] for name in names if still[name].any()), default=0)
    if normalized:
        of_still = max(of_still, rate * STEPS**0.5)
    of_others = max((gaps[name] for name in names if not still[name].any()), default=0)
    for name, weight in weights.items():
        if name not in found:
            raise RuntimeError(f"{name}: not saved")
        gap = np.where(still[name], of_still, of_others) if still[name].any() else gaps[name]
        allowed = np.maximum(FACTOR * gap, FLOOR * np.abs(weight).max())
        share = float((np.abs(found[name].astype(np.float64) - weight) / allowed).max())
        if not share <= 1:
            raise RuntimeError(f"{name}: {share:.2f} times the allowed difference")
        worst = max(worst, share)
    return worst


def compare_dropout(found: np.ndarray, expected: Arrays) -> None:
    """Raises unless losses with dropout are like those of PyTorch's seeds, and unlike those without it."""
    means = expected["dropout_losses"].reshape(-1, WINDOWS, STEPS // WINDOWS).mean(2)
    low, high = means.min(0), means.max(0)
    spread = high - low

    def inside(losses: np.ndarray) -> np.ndarray:
        mean = losses.reshape(WINDOWS, -1).mean(1)
        return (mean >= low - spread) & (mean <= high + spread)

    if inside(expected["loss"]).all():
        raise RuntimeError("losses without dropout are not told from those with it")
    if not inside(found).all():
        raise RuntimeError(f"mean losses with dropout: {found.reshape(WINDOWS, -1).mean(1)}, expected {low} to {high}")


def check_bits(runs: Runs, steps: int, *options: object) -> list[dict[str, float]]:
    """What a program logs, if threads, recomputation and a break do not change a bit of the first steps."""
    program = runs.compile(*options, verify_each=True)
    lines, saved = runs.train(program, "whole", "--threads", 2)
    first, saved_first = runs.train(program, "one", "--threads", 1, "--steps", steps)
    if first != lines[:steps] or (steps == STEPS and saved_first != saved):
        raise RuntimeError("one thread gives other bits than two")
    recomputes = runs.optimizer == "adamw"  # which has nothing to do with the update
    if recomputes and runs.train(runs.compile("--recompute", "layer", *options), "layer", "--steps", steps) != (first, saved_first):
        raise RuntimeError("--recompute layer gives other bits than none")
    runs.train(program, "half", "--steps", steps // 2)
    (runs.folder / "rest.jsonl").unlink(missing_ok=True)  # a resumed run appends to it
    rest, end = runs.train(program, "rest", "--resume", runs.folder / "half", "--steps", steps)
    if end != saved_first or rest != first[steps // 2 :]:
        raise RuntimeError("a resumed run gives other bits than an unbroken one")
    return lines


def check_first_steps(compiler: Path, case: Path, optimizer: str, steps: int) -> str:
    """The losses and norms of so many steps, and nothing else."""
    data, labels = data_of(case)
    expected = expected_of(case, data, labels, optimizer, live=False, record=False)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, optimizer, Path(scratch))
        save_file(first_steps(case, steps), runs.folder / "data.safetensors")
        lines, _ = runs.train(runs.compile("--dropout", "0", verify_each=True), "first")
    shares = [compare_curve(np.array([line[what] for line in lines]), expected[what][:steps], expected[f"{what}.gap"][:steps], what)
              for what in ("loss", "grad_norm")]  # fmt: skip
    return f"loss {lines[0]['loss']:.3f}; in {steps} steps of the allowed differences: loss {shares[0]:.2f}, norm {shares[1]:.2f}"


def check(compiler: Path, case: Path, optimizer: str, bits: int, live: bool, record: bool) -> str:
    """How near it is; raises what is wrong."""
    data, labels = data_of(case)
    expected = expected_of(case, data, labels, optimizer, live, record)
    with tempfile.TemporaryDirectory() as scratch:
        runs = Runs(compiler, case, optimizer, Path(scratch))
        save_file(data | labels, runs.folder / "data.safetensors")
        lines = check_bits(runs, bits, "--dropout", "0")
        shares = [
            compare_curve(np.array([line[what] for line in lines]), expected[what], expected[f"{what}.gap"], what)
            for what in ("loss", "grad_norm")
        ]
        weights = load_file(runs.folder / "whole" / "model.safetensors")
        given = load_file(case / "model.safetensors")
        normalized = optimizer == "adamw"
        shares.append(compare_weights(weights, expected, given, OPTIMIZERS[optimizer].rate, vector_decay(case), normalized))
        if set(weights) != set(given):
            raise RuntimeError(f"other tensors are saved than given: {sorted(set(weights) ^ set(given))[:3]}")
        if "dropout_losses" in expected:
            with_dropout = check_bits(runs, bits) if case.name == BITS_WITH_DROPOUT else runs.train(runs.compile(), "dropout")[0]
            compare_dropout(np.array([line["loss"] for line in with_dropout]), expected)
    drop = f"loss {lines[0]['loss']:.3f} -> {lines[-1]['loss']:.3f}"
    return f"{drop}; of the allowed differences: loss {shares[0]:.2f}, norm {shares[1]:.2f}, weights {shares[2]:.2f}"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--live", action="store_true", help="ask the installed transformers")
    parser.add_argument("--record", action="store_true", help="ask it and write its answers")
    parser.add_argument("--steps", type=int, help="compare the losses and norms of so many steps, and nothing else")
    parser.add_argument("--bits", type=int, default=STEPS, help="the steps in which bits are compared (default: all)")
    parser.add_argument("cases", nargs="*", help="golden cases, or CASE:OPTIMIZER (default: those recorded)")
    options = parser.parse_args()
    recorded = sorted(HERE.glob("*/training*.safetensors"))
    cases = options.cases or [path.parent.name + path.stem.removeprefix("training").replace("-", ":") for path in recorded]
    compiler = options.compile.resolve()

    def check_case(path: Path) -> str:
        case, _, optimizer = path.name.partition(":")
        if options.steps:
            return check_first_steps(compiler, HERE / case, optimizer or "adamw", options.steps)
        return check(compiler, HERE / case, optimizer or "adamw", options.bits, options.live, options.record)

    return run_cases("train", cases, check_case)


if __name__ == "__main__":
    sys.exit(main())
