#!/usr/bin/env python3
"""Loss and gradients of golden models beside transformers' or PyTorch's in float64.

Each model's own loss for random labels, some of which do not count, and the gradient of each parameter; the
interpreter evaluates the differentiated model in float64, so they agree but for what float32 files keep. What
transformers gives is recorded for some cases (`gradients*.safetensors`); with --live the installed one is asked,
with --record its answers are written.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

HERE = Path(__file__).resolve().parent
IGNORED = -100
PROBLEMS = ("regression", "multi_label_classification")

Arrays = dict[str, np.ndarray]


def labels_for(config: dict, inputs: Arrays) -> Arrays:
    """Random ones, under their names."""
    head, random = config.get("architectures", [""])[0], np.random.default_rng(5)
    rows = len(next(iter(inputs.values())))
    if head.endswith("ForQuestionAnswering"):
        return spans_for(inputs, random)
    if head.endswith(("ForSequenceClassification", "ForImageClassification")):
        classes = len(config.get("id2label", "01"))
        numbers = config.get("problem_type") in PROBLEMS
        return {"labels": random.random((rows, classes), np.float32) if numbers else random.integers(0, classes, rows)}
    if head == "ElectraForPreTraining":
        return {"labels": random.integers(0, 2, inputs["input_ids"].shape)}
    labels = {"labels": token_labels(config, inputs, random)}
    if head == "BERTLM" or head.endswith("ForPreTraining"):
        name = "sentence_order_label" if config["model_type"] == "albert" else "next_sentence_label"
        labels[name] = random.integers(0, 2, rows)
        labels[name][0] = IGNORED
    return labels


def classes_of_tokens(config: dict) -> int:
    if config.get("architectures", [""])[0].endswith("ForTokenClassification"):
        return len(config["id2label"])
    return config.get("tgt_vocab_size") or config.get("dec_voc_size") or config["vocab_size"]


def token_labels(config: dict, inputs: Arrays, random: np.random.Generator) -> np.ndarray:
    """Of tokens a fourth, and those of padding, do not count."""
    prefix = "decoder_" if "decoder_input_ids" in inputs else ""
    ids = inputs[f"{prefix}input_ids"]
    masked = {"bert_pytorch": 0, "annotated_transformer": config.get("trg_pad_idx")}.get(config["model_type"])
    mask = inputs.get(f"{prefix}attention_mask", np.ones_like(ids) if masked is None else ids != masked)
    labels = random.integers(0, classes_of_tokens(config), ids.shape)
    labels[(random.random(ids.shape) < 0.25) | (mask == 0)] = IGNORED
    labels[:, -1] = np.where(mask[:, -1] == 0, IGNORED, 0)  # one counts in any case
    return labels


def spans_for(inputs: Arrays, random: np.random.Generator) -> Arrays:
    """Columns of tokens; one is outside and does not count, one is negative and means the first column."""
    mask = inputs.get("attention_mask", np.ones_like(inputs["input_ids"]))
    start, end = ([random.choice(np.flatnonzero(row)) for row in mask] for _ in range(2))
    end[0] = mask.shape[1] + 3
    start[np.flatnonzero(mask[:, 0])[-1]] = -1
    return {"start_positions": np.array(start), "end_positions": np.array(end)}


def trained_names(model: "torch.nn.Module") -> set[str]:  # noqa: F821
    """Parameters that are trained: the model's class knows what is frozen, which loading forgets."""
    return {name for name, p in type(model)(model.config).named_parameters() if p.requires_grad}


def names_of_files(model: "torch.nn.Module", tensors: dict[str, "torch.Tensor"]) -> dict[str, "torch.Tensor"]:  # noqa: F821
    """Under the names that checkpoints have; ViT's modules have others."""
    from transformers import PreTrainedModel
    from transformers.core_model_loading import revert_weight_conversion

    return revert_weight_conversion(model, tensors) if isinstance(model, PreTrainedModel) else tensors


def leave_out_padding(model: "torch.nn.Module", mask: "torch.Tensor") -> None:  # noqa: F821
    """From the scores of where answers are, which transformers computes for padding, too."""
    model.qa_outputs.register_forward_hook(lambda *call: call[-1].masked_fill(mask[..., None] == 0, float("-inf")))


def smoothed_loss(logits: "torch.Tensor", config: dict, labels: "torch.Tensor") -> "torch.Tensor":  # noqa: F821
    """That of the native encoder-decoders, whose code in PyTorch has none: padding does not count."""
    from torch.nn.functional import cross_entropy

    labels = labels.masked_fill(labels == config.get("trg_pad_idx", config.get("pad_token_id", 0)), IGNORED)
    return cross_entropy(logits.flatten(0, 1), labels.flatten(), label_smoothing=config.get("label_smoothing", 0.0))


def loss_of(model: "torch.nn.Module", config: dict, inputs: Arrays, labels: Arrays) -> "torch.Tensor":  # noqa: F821
    """What the installed library says, in the type of the model's parameters."""
    import torch

    dtype = next(model.parameters()).dtype
    has_loss = config["model_type"] not in ("transformer", "annotated_transformer")
    arguments = {name: torch.from_numpy(value) for name, value in (inputs | labels if has_loss else inputs).items()}
    outputs = model(**{name: t.to(dtype) if t.is_floating_point() else t for name, t in arguments.items()})
    return outputs["loss"] if has_loss else smoothed_loss(outputs["logits"], config, torch.from_numpy(labels["labels"]))


def ask(case: Path, inputs: Arrays, labels: Arrays, dtype: "torch.dtype | None" = None, scale: float = 1) -> Arrays:  # noqa: F821
    """The installed transformers' loss and gradients, in float64 unless another is given; of `scale` times the loss."""
    import torch
    from exact import exact
    from reference import load_model

    model = load_model(case, dtype or torch.float64)
    if "start_positions" in labels:
        leave_out_padding(model, torch.from_numpy(inputs["attention_mask"]))
    with nullcontext() if dtype else exact():
        loss = loss_of(model, json.loads((case / "config.json").read_text()), inputs, labels)
        (loss * scale).backward()
    trained = trained_names(model)
    found = {name: p.grad for name, p in model.named_parameters() if name in trained and p.grad is not None}
    found = names_of_files(model, found)
    return {name: np.ascontiguousarray(t.detach().numpy(), np.float32) for name, t in {"loss": loss, **found}.items()}


def expected_of(case: Path, inputs: Arrays, labels: Arrays, recorded: Path, live: bool, record: bool) -> Arrays:
    if not live and not record:
        return load_file(recorded)
    found = ask(case, inputs, labels)
    if record:
        save_file(found, recorded)
    return found


@contextmanager
def variant(case: Path, problem: str) -> Iterator[Path]:
    """The case with another problem_type, if one is given."""
    if not problem:
        yield case
        return
    with tempfile.TemporaryDirectory() as scratch:
        config = json.loads((case / "config.json").read_text())
        (Path(scratch) / "config.json").write_text(json.dumps(config | {"problem_type": problem}))
        for path in case.glob("*.safetensors"):
            (Path(scratch) / path.name).symlink_to(path)
        yield Path(scratch)


def check(tool: Path, name: str, live: bool, record: bool) -> str:
    """What the tool says of a golden case, or a case:problem_type; raises what it fails with."""
    folder, _, problem = name.partition(":")
    recorded = HERE / folder / f"gradients{'-' * bool(problem)}{problem}.safetensors"
    with variant(HERE / folder, problem) as case:
        return check_case(tool, case, recorded, live, record)


def given_to(case: Path) -> tuple[Arrays, Arrays]:
    """The case's inputs and labels."""
    config = json.loads((case / "config.json").read_text())
    inputs = load_file(case / "inputs.safetensors")
    pad = config.get("pad_token_id")
    if pad is not None and "pixel_values" not in inputs:  # a token like others, whose row of the table is not trained
        inputs["decoder_input_ids" if "decoder_input_ids" in inputs else "input_ids"][:, 1] = pad
    return inputs, labels_for(config, inputs)


def check_case(tool: Path, case: Path, recorded: Path, live: bool, record: bool) -> str:
    inputs, labels = given_to(case)
    with tempfile.TemporaryDirectory() as scratch:
        given, expected = Path(scratch) / "inputs.safetensors", Path(scratch) / "expected.safetensors"
        save_file(inputs | labels, given)
        save_file(expected_of(case, inputs, labels, recorded, live, record), expected)
        command = [tool, case, "--inputs", given, "--expected", expected]
        for recompute in ("layer", "none"):
            done = subprocess.run([*command, "--recompute", recompute], capture_output=True, text=True)
            if done.returncode != 0:
                said = (done.stderr + done.stdout).strip().replace("\n", "; ")
                raise RuntimeError(f"recompute {recompute}: {said or f'exit code {done.returncode}'}")
    return done.stdout.strip()


def run_cases(kind: str, names: list[str], check_case: Callable[[Path], str]) -> int:
    """A line a golden case, of what `check_case` says or raises, and the last line; the exit code. TRANSFORMER_TEST_JOBS
    says how many cases there are at a time (default: 1)."""

    def line(name: str) -> str:
        try:
            return f"PASS: {kind}/{name}: {check_case(HERE / name)}"
        except (OSError, RuntimeError, KeyError, TypeError, ValueError) as error:
            return f"FAIL: {kind}/{name}: {str(error)[:400]}"

    failed = 0
    with ThreadPoolExecutor(int(os.environ.get("TRANSFORMER_TEST_JOBS", 1))) as pool:
        for each in pool.map(line, names):
            failed += each.startswith("FAIL: ")
            print(each, flush=True)
    print(f"{len(names) - failed} passed, {failed} failed")
    return 1 if failed or not names else 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tool", type=Path, required=True, help="transformer-model-gradients")
    parser.add_argument("--live", action="store_true", help="ask the installed transformers")
    parser.add_argument("--record", action="store_true", help="ask it and write its answers")
    parser.add_argument("cases", nargs="*", help="golden cases, or CASE:PROBLEM_TYPE (default: those recorded; with --live all whose loss there is)")
    options = parser.parse_args()
    asks = options.live or options.record
    if asks:
        folders = [path.parent for path in sorted(HERE.glob("*/config.json"))]
        heads = ("-lm", "classification", "question-answering", "pretraining")
        names = [path.name for path in folders if path.name.endswith(heads) or (path / "gradients.safetensors").exists()]
        names += [f"bert-sequence-classification:{problem}" for problem in PROBLEMS]
    else:
        names = [":".join([path.parent.name, *path.stem.split("-")[1:]]) for path in sorted(HERE.glob("*/gradients*.safetensors"))]
    tool = options.tool.resolve()
    return run_cases(
        "gradients", options.cases or names, lambda case: check(tool, case.name, options.live, options.record)
    )


if __name__ == "__main__":
    sys.exit(main())
