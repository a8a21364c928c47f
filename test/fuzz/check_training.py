#!/usr/bin/env python3
"""Training with random settings beside the installed PyTorch: losses, norms and rates of some steps, and the weights
behind them, by optimizers, schedules, decays, clipping, frozen parameters, recomputation, steps in parts and adapters
(beside PEFT).

They differ from PyTorch's in float64 by at most so many times what PyTorch's in float32 do so far, or some units in the
last place. Needs torch, transformers, peft and safetensors.
"""

import fnmatch
import json
import os
import random
import sys
import tempfile
from functools import cached_property
from pathlib import Path
from threading import Lock

for folder in ("e2e", "golden"):
    sys.path.insert(0, str(Path(__file__).resolve().parents[1] / folder))

import numpy as np  # noqa: E402
import torch  # noqa: E402
import transformers  # noqa: E402
from adapters import WEIGHTS, Adapters, adapted, name_in_file, start_for, write_adapter  # noqa: E402
from gradients import Arrays, leave_out_padding, names_of_files, trained_names  # noqa: E402
from harness import GOLDEN, compile_program, execute  # noqa: E402
from reference import load_model  # noqa: E402
from safetensors.numpy import load_file, save_file  # noqa: E402
from seeds import ENDS, check_compiled_seeds  # noqa: E402
from train import config_of, curves_by, data_of  # noqa: E402

STEPS = 6
FACTOR, FLOOR = 6, 32 * 2.0**-23  # times the gap; of a value
CASES = ("gpt2-lm", "llama-lm", "bert-masked-lm", "t5-lm", "bert-question-answering", "vit-grey", "bart-lm", "transformer-tied")
FROZEN = ("*bias", "*norm*", "*ln_*", "*LayerNorm*", "*embed*", "*wte*", "*shared*", "*.0.*")
RECOMPUTE = ("none", "none", "attention", "layer")
ADAPTED = ("gpt2-lm", "llama-lm", "bert-masked-lm", "t5-lm", "bert-question-answering", "bart-lm")  # of CASES: names of files are those of modules
SCHEDULES = {"constant": "constant_with_warmup", "linear": "linear", "cosine": "cosine", "inverse-sqrt": None}
CANCELLED = ("key.bias", "k_proj.bias", "c_attn.bias", "in_proj_bias")  # gradients of keys' biases are nothing but rounding

PYTORCH = Lock()


def draw_optimizer(draw: random.Random) -> tuple[str, float, dict[str, object], list[object]]:
    """Its name, rate, what PyTorch is told and what a program is."""
    kind = draw.choice(["adamw", "adamw", "sgd", "adafactor"])
    if kind == "adamw":
        betas, epsilon = (draw.choice([0.0, 0.5, 0.9]), draw.choice([0.9, 0.99, 0.999])), draw.choice([1e-8, 1e-4, 0.1])
        return kind, draw.choice([1e-4, 1e-3, 5e-3]), {"betas": betas, "eps": epsilon}, ["--beta1", betas[0], "--beta2", betas[1], "--epsilon", epsilon]
    if kind == "sgd":
        momentum = draw.choice([0.0, 0.5, 0.9])
        return kind, draw.choice([0.01, 0.05]), {"momentum": momentum}, ["--momentum", momentum]
    decay, eps, threshold = draw.choice([-0.8, -0.5, 0.0]), (draw.choice([1e-4, 1e-3]), draw.choice([1e-3, 0.2])), draw.choice([1.0, 1.5])
    words = ["--beta2-decay", decay, "--eps1", eps[0], "--eps2", eps[1], "--clip-threshold", threshold]
    return kind, draw.choice([1e-3, 1e-2]), {"beta2_decay": decay, "eps": eps, "d": threshold}, words


def draw_adapters(draw: random.Random, case: Path) -> Adapters:
    """Of some kinds of linear layers."""
    model = load_model(case, torch.float32)
    tied = {id(embeddings.weight) for embeddings in (model.get_input_embeddings(), model.get_output_embeddings()) if embeddings}
    layers = (torch.nn.Linear, transformers.pytorch_utils.Conv1D)
    names = [name for name, module in model.named_modules() if isinstance(module, layers) and id(module.weight) not in tied]
    ends = sorted({".".join(name.split(".")[-draw.choice([1, 2]) :]) for name in names})
    targets = draw.sample(ends, min(len(ends), draw.choice([1, 2, 4])))
    return Adapters(targets, draw.choice([1, 2, 3, 8, 17]), draw.choice([1, 4, 32]))


class Settings:
    """Of one seed."""

    def __init__(self, seed: int):
        draw = random.Random(seed)
        self.case = GOLDEN / draw.choice(CASES)
        self.optimizer, self.rate, self.torch_options, self.words = draw_optimizer(draw)
        self.decay, self.vector_decay = draw.choice([0.0, 0.01, 0.5]), draw.choice([None, 0.0, 0.3])
        self.clip = draw.choice([0.0, 0.3, 1.0, 50.0])
        self.schedule, self.warmup = draw.choice(list(SCHEDULES)), draw.choice([0, 1, 4])
        if self.schedule == "inverse-sqrt":
            self.warmup = max(self.warmup, 1)
        names = load_file(self.case / "model.safetensors")
        self.frozen = draw.choice([""] * 3 + [pattern for pattern in FROZEN if fnmatch.filter(names, pattern)])
        self.recompute = draw.choice(RECOMPUTE)
        self.parts = draw.choice([0, 0, 1, 2, 3])  # 0: a program that cannot divide its steps
        self.threads = draw.choice([1, 2, 3])
        self.adapters = draw_adapters(draw, self.case) if self.case.name in ADAPTED and draw.random() < 0.4 else None
        if self.adapters:
            self.frozen = ""  # all but they are

    def compiled(self) -> list[str]:
        words = ["--mode", "train", "--dropout", "0", "--optimizer", self.optimizer, "--recompute", self.recompute]
        return words + ["--freeze", self.frozen] * bool(self.frozen) + ["--accumulate"] * bool(self.parts)

    def given(self) -> list[object]:
        words = ["--learning-rate", self.rate, "--weight-decay", self.decay, "--max-grad-norm", self.clip, *self.words]
        words += ["--vector-weight-decay", self.vector_decay] * (self.vector_decay is not None)
        words += ["--schedule", self.schedule, "--warmup-steps", self.warmup, "--threads", self.threads]
        return words + ["--accumulate", self.parts] * bool(self.parts)

    @cached_property
    def rates(self) -> list[float]:
        """Of each step; inverse square root is the paper's."""
        if self.schedule == "inverse-sqrt":
            return [self.rate * min((self.warmup / step) ** 0.5, step / self.warmup) for step in range(1, STEPS + 1)]
        optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=self.rate)
        scheduler = transformers.get_scheduler(SCHEDULES[self.schedule], optimizer, self.warmup, STEPS)
        rates = []
        for _ in range(STEPS):
            rates.append(scheduler.get_last_lr()[0])
            optimizer.step()
            scheduler.step()
        return rates

    def is_frozen(self, name: str) -> bool:
        return fnmatch.fnmatchcase(name, self.frozen)


def curves(
    settings: Settings, data: Arrays, labels: Arrays, start: Arrays | None, dtype: torch.dtype
) -> tuple[np.ndarray, np.ndarray, Arrays]:
    """PyTorch's losses, norms and last weights; `start`: adapters."""
    model = load_model(settings.case, dtype)
    if "start_positions" in labels:
        leave_out_padding(model, torch.from_numpy(data["attention_mask"][0]))
    if start is None:
        choose_trained(model, settings)
    else:
        model = adapted(model, settings.adapters, start)
    weights = [p for p in model.parameters() if p.requires_grad]
    decay = settings.decay if settings.vector_decay is None else settings.vector_decay
    groups = [{"params": [p for p in weights if p.ndim > 1]}, {"params": [p for p in weights if p.ndim < 2], "weight_decay": decay}]
    make = {"adamw": torch.optim.AdamW, "sgd": torch.optim.SGD, "adafactor": torch.optim.Adafactor}[settings.optimizer]
    optimizer = make([group for group in groups if group["params"]], lr=settings.rate, weight_decay=settings.decay, **settings.torch_options)
    losses, norms, last = curves_by(optimizer, settings.rates, settings.clip or float("inf"), model, config_of(settings.case), data, labels)
    return losses, norms, {name_in_file(name): weight for name, weight in last.items()}


def choose_trained(model: torch.nn.Module, settings: Settings) -> None:
    trained = trained_names(model)
    file_names = dict(names_of_files(model, {name: torch.empty(0) for name, _ in model.named_parameters()}))
    assert len(file_names) == len(list(model.named_parameters())), "names of files are not names of modules"
    for name, p in model.named_parameters():
        p.requires_grad_(name in trained and not settings.is_frozen(name))


def compare(what: str, found: np.ndarray, expected: np.ndarray, single: np.ndarray) -> None:
    gap = np.maximum.accumulate(np.abs(single - expected))
    allowed = np.maximum(FACTOR * gap, FLOOR * np.abs(expected))
    if not (np.abs(found - expected) <= allowed).all():
        raise RuntimeError(f"{what}: expected {expected.tolist()}, found {found.tolist()}, float32 {single.tolist()}")


def compare_weights(settings: Settings, found: Arrays, given: Arrays, expected: Arrays, single: Arrays) -> None:
    compared = [name for name in expected if not name.endswith(CANCELLED)]
    gap = max(np.abs(single[name] - expected[name]).max() for name in compared)
    for name in compared:
        error, largest = np.abs(found[name].astype(np.float64) - expected[name]).max(), np.abs(expected[name]).max()
        if not error <= max(FACTOR * gap, FLOOR * largest):
            raise RuntimeError(f"{name}: differs by {error:.3g} of {largest:.3g}, float32 by {gap:.3g}")
    for name in given:
        if name not in expected and settings.is_frozen(name) and not np.array_equal(found[name], given[name]):
            raise RuntimeError(f"{name} is frozen and has changed")


def check_settings(compiler: Path, settings: Settings, folder: Path) -> None:
    data, labels = ({name: value[:STEPS] for name, value in part.items()} for part in data_of(settings.case))
    checkpoint, start, file = settings.case, None, "model.safetensors"
    with PYTORCH:
        if settings.adapters:
            checkpoint, file = folder / "adapter", WEIGHTS
            start = start_for(load_model(settings.case, torch.float32), settings.adapters)
            write_adapter(checkpoint, settings.case, settings.adapters, start)
        exactly, single = (curves(settings, data, labels, start, dtype) for dtype in (torch.float64, torch.float32))
    program, log, save, steps = (folder / name for name in ("program", "log.jsonl", "saved", "steps.safetensors"))
    compile_program(compiler, checkpoint, program, *settings.compiled())
    save_file(data | labels, steps)
    done = execute([program, "train", "-w", checkpoint, "--data", steps, "--log", log, "--save", save, *settings.given()])
    if done.code != 0:
        raise RuntimeError(done.complaint())
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    rates = np.array([line["learning_rate"] for line in lines])
    compare("learning_rate", rates, np.array(settings.rates), np.array(settings.rates))
    for i, what in enumerate(("loss", "grad_norm")):
        compare(what, np.array([line[what] for line in lines]), exactly[i], single[i])
    compare_weights(settings, load_file(save / file), load_file(checkpoint / file), exactly[2], single[2])
    ENDS[f"{settings.case.name}{' with adapters' if settings.adapters else ''} by {settings.optimizer}"] += 1


def check(compiler: Path, folder: Path, seed: int) -> str | None:
    settings = Settings(seed)
    try:
        check_settings(compiler, settings, folder)
    except RuntimeError as error:
        words = " ".join(str(word) for word in [*settings.compiled(), *settings.given()])
        return f"{settings.case.name} {settings.adapters or ''} {words}: {error}"
    return None


def main() -> int:
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as kept:
        os.environ.setdefault("TRANSFORMER_TEST_PROGRAMS", kept)
        return check_compiled_seeds("training", "settings", __doc__, check)


if __name__ == "__main__":
    sys.exit(main())
