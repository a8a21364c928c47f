#!/usr/bin/env python3
"""Fine-tuning a real checkpoint: all-MiniLM-L6-v2 gets a head and learns what short texts are about.

Its last layer, pooler and head are trained on a few lines; texts with other words are then classified, before and
after. What is frozen keeps its bits, what is not does not. Labels and scores of `classify` are computed again from
the logits that `run` gives for the ids of the library `tokenizers`.
"""

import argparse
import json
import sys
import tempfile
from pathlib import Path

import numpy as np
from harness import Report, compile_program, execute, why_not_clean_error
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer

SUBJECTS = {
    "animals": ("dog", "cat", "horse", "sparrow", "whale", "lion", "bee", "goat"),
    "food": ("bread", "soup", "cheese", "apple", "pizza", "rice", "cake", "salad"),
    "music": ("piano", "guitar", "song", "choir", "violin", "drum", "concert", "trumpet"),
}
HELD_OUT = 3  # words of each subject
TRAINED_FORMS, HELD_OUT_FORMS = ("a {}", "we saw the {}", "there is a small {} in my house"), ("this {}", "their new {}")
FROZEN = "bert.embeddings.*,bert.encoder.layer.[0-4].*"
STEPS, ROWS, RATE, LOSS = 30, 9, 5e-4, 0.2  # the last loss is at most this; the logarithm of 3 classes is 1.1

Pairs = list[tuple[str, str]]


def make_texts(forms: tuple[str, ...], words: slice) -> Pairs:
    return [(form.format(word), name) for form in forms for name, all_ in SUBJECTS.items() for word in all_[words]]


def write_model(folder: Path, checkpoint: Path) -> None:
    """The checkpoint without the head that its configuration asks for."""
    folder.mkdir()
    config = json.loads((checkpoint / "config.json").read_text())
    config |= {
        "architectures": ["BertForSequenceClassification"],
        "id2label": {str(i): name for i, name in enumerate(SUBJECTS)},
        "label2id": {name: i for i, name in enumerate(SUBJECTS)},
    }
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("model.safetensors", "tokenizer.json"):
        (folder / name).symlink_to((checkpoint / name).resolve())


def succeed(command: list[object]) -> str:
    done = execute(command)
    if done.code != 0:
        raise RuntimeError(f"{Path(str(command[0])).name} {command[1]}: exit code {done.code}: {done.complaint()}")
    return done.stdout


def train(trainer: Path, model: Path, saved: Path, *options: object) -> list[float]:
    """The losses."""
    log, data = saved.with_suffix(".jsonl"), saved.parent / "train.tsv"
    start = ("--weights", model, "--init", 0, "--definition", model)
    batches = ("--data", data, "--batch-size", ROWS, "--epochs", STEPS)
    succeed([trainer, "train", *start, *batches, "--log", log, "--save", saved, *options])
    return [json.loads(line)["loss"] for line in log.read_text().splitlines()]


def classify(program: Path, weights: Path, texts: list[str]) -> list[dict]:
    file = weights.parent / "texts.txt"
    file.write_text("".join(text + "\n" for text in texts))
    return [json.loads(line) for line in succeed([program, "classify", "--weights", weights, "--file", file]).splitlines()]


def share_right(answers: list[dict], pairs: Pairs) -> float:
    return float(np.mean([answer["label"] == label for answer, (_, label) in zip(answers, pairs, strict=True)]))


def why_not_learning(losses: list[float], before: float, after: float) -> str | None:
    if not losses[-1] <= LOSS:
        return f"the last loss is {losses[-1]}, expected at most {LOSS}"
    if before > 0.7 or after != 1:
        return f"{before:.2f} right before, {after:.2f} after; expected at most 0.7, which is not by chance, and all"
    return None


def why_not_frozen(model: Path, saved: Path) -> str | None:
    before, after = load_file(model / "model.safetensors"), load_file(saved / "model.safetensors")
    after = {name.removeprefix("bert."): values for name, values in after.items()}
    for name in before.keys() & after.keys():
        trained = name.startswith(("encoder.layer.5.", "pooler."))
        # The softmax does not see what is added to all keys.
        if "key.bias" not in name and np.array_equal(before[name], after[name]) == trained:
            return f"{name} has {'the bits that it had' if trained else 'other bits'}"
    missing = sorted({"encoder.layer.0.output.dense.weight", "encoder.layer.5.output.dense.weight"} - after.keys())
    return f"not saved: {missing}" if missing else None


def why_not_softmax(program: Path, saved: Path, texts: list[str]) -> str | None:
    """Text by text: rows do not depend on what runs beside them."""
    files = saved.parent / "in.safetensors", saved.parent / "out.safetensors"
    tokenizer = Tokenizer.from_file(str(saved / "tokenizer.json"))
    tokenizer.no_padding()
    for answer, text in zip(classify(program, saved, texts), texts, strict=True):
        encoding = tokenizer.encode(*text.split("\t"))
        inputs = {"input_ids": encoding.ids, "token_type_ids": encoding.type_ids}
        save_file({name: np.array([values], np.int64) for name, values in inputs.items()}, files[0])
        succeed([program, "run", "--weights", saved, "--inputs", files[0], "--outputs", files[1]])
        logits = load_file(files[1])["logits"][0].astype(np.float64)
        shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
        label = list(SUBJECTS)[int(shares.argmax())]
        if answer["text"] != text or answer["label"] != label or abs(answer["score"] - shares.max()) > 1e-6:
            return f"{answer}, expected {text} {label} {shares.max():.7f}"
    return None


def why_not_refused(program: Path, saved: Path, folder: Path) -> str | None:
    """Several classes at once have no one class."""
    folder.mkdir()
    (folder / "model.safetensors").symlink_to(saved / "model.safetensors")
    config = json.loads((saved / "config.json").read_text()) | {"problem_type": "multi_label_classification"}
    (folder / "config.json").write_text(json.dumps(config))
    done = execute([program, "classify", "--weights", folder, "--text", "a dog"])
    return why_not_clean_error(done, ("config.json", "problem_type", "multi_label_classification"))


def check(compiler: Path, checkpoint: Path, folder: Path, report: Report) -> None:
    model, program, trainer = folder / "model", folder / "classifier", folder / "trainer"
    write_model(model, checkpoint)
    compile_program(compiler, model, program)
    compile_program(compiler, model, trainer, "--mode", "train", "--freeze", FROZEN)
    learned = make_texts(TRAINED_FORMS, slice(HELD_OUT, None))
    (folder / "train.tsv").write_text("".join(f"{text}\t{label}\n" for text, label in learned))
    held_out = make_texts(HELD_OUT_FORMS, slice(HELD_OUT))
    texts = [text for text, _ in held_out]
    train(trainer, model, folder / "before", "--steps", 1, "--learning-rate", 0)
    before = share_right(classify(program, folder / "before", texts), held_out)
    saved = folder / "after"
    losses = train(trainer, model, saved, "--steps", STEPS, "--learning-rate", RATE)
    answers = classify(program, saved, texts)
    report.add("finetune/learned", why_not_learning(losses, before, share_right(answers, held_out)))
    report.add("finetune/frozen", why_not_frozen(model, saved))
    report.add("finetune/classify", why_not_softmax(program, saved, [*texts[:4], "a dog\twith a guitar"]))
    report.add("finetune/several classes at once", why_not_refused(program, saved, folder / "several"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkpoint", type=Path, help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    options = parser.parse_args()
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(options.compile.resolve(), options.checkpoint, Path(scratch), report)
        except (RuntimeError, OSError, KeyError, ValueError) as error:
            report.add("finetune", str(error))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
