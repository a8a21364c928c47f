#!/usr/bin/env python3
"""Training on text: the steps of a .txt or .tsv file are those of a safetensors file that is made of it here.

Tokens are what the library `tokenizers` gives; which rows a step has, and which tokens are masked, is computed again
from the seed. Logs and weights are equal to the last bit, those of a resumed run, too.
"""

import argparse
import json
import random
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute, why_not_clean_error
from safetensors.numpy import save_file
from tokenizers import Tokenizer, models, pre_tokenizers, processors

SEED, EPOCHS, ROWS, LINES, LENGTH = 5, 2, 3, 10, 14
WINDOW = 50  # batches whose rows are sorted by length
ROW_ORDER, BATCH_ORDER, CHOSEN, REPLACED, RANDOM_TOKEN = range(5)  # what random numbers are for
PAD, UNKNOWN, START, END, MASK, FIRST_WORD = range(6)
IGNORED = -100

Rows = list[list[int]]
Row = dict[str, list[int]]
Arrays = dict[str, np.ndarray]


# --- the same random numbers and batches, written again --------------------------------------------


def philox(counter: list[int], key: list[int]) -> list[int]:
    word = 0xFFFFFFFF
    for _ in range(10):
        first, second = 0xD2511F53 * counter[0], 0xCD9E8D57 * counter[2]
        counter = [second >> 32 ^ counter[1] ^ key[0], second & word, first >> 32 ^ counter[3] ^ key[1], first & word]
        key = [key[0] + 0x9E3779B9 & word, key[1] + 0xBB67AE85 & word]
    return counter


def uniform(sequence: int, position: int, draw: int) -> float:
    words = philox([position, draw, sequence & 0xFFFFFFFF, sequence >> 32], [SEED, 0])
    return ((words[0] << 32 | words[1]) >> 11) * 2.0**-53


def shuffle(items: list, epoch: int, draw: int) -> None:
    for left in range(len(items), 1, -1):
        place = int(uniform(epoch, left, draw) * left)
        items[left - 1], items[place] = items[place], items[left - 1]


def batches(lengths: list[int]) -> Iterator[tuple[int, list[int]]]:
    """The epoch and the rows of each step."""
    for epoch in range(EPOCHS):
        order = list(range(len(lengths)))
        shuffle(order, epoch, ROW_ORDER)
        window = WINDOW * ROWS
        parts = [sorted(order[i : i + window], key=lambda row: -lengths[row]) for i in range(0, len(order), window)]
        order = [row for part in parts for row in part]
        cut = [order[i : i + ROWS] for i in range(0, len(order), ROWS)]
        shuffle(cut, epoch, BATCH_ORDER)
        yield from ((epoch, rows) for rows in cut)


def masked(ids: list[int], epoch: int, row: int, vocabulary: int) -> tuple[list[int], list[int]]:
    """Ids and labels of a row, half of whose tokens are chosen."""
    sequence, ids, labels = epoch << 32 | row, list(ids), [IGNORED] * len(ids)
    for i, token in enumerate(ids):
        if token < FIRST_WORD or uniform(sequence, i, CHOSEN) >= 0.5:
            continue
        labels[i], kind = token, uniform(sequence, i, REPLACED)
        if kind < 0.8:
            ids[i] = MASK
        elif kind < 0.9:
            ids[i] = int(uniform(sequence, i, RANDOM_TOKEN) * vocabulary)
    return ids, labels


def padded(rows: Rows, fill: int, shape: tuple[int, int]) -> np.ndarray:
    result = np.full(shape, fill, np.int64)
    for to, row in zip(result, rows):
        to[: len(row)] = row
    return result


# --- objectives ------------------------------------------------------------------------------------


@dataclass
class Case:
    """A golden model, a file of text, how many texts a line has, and what a row of it is: inputs by their names. Rows
    that are missing in a batch are all padding, as steps of a safetensors file have one shape."""

    model: str
    file: str
    texts: int
    options: tuple[object, ...]
    row: Callable[[list[str], int, int, Tokenizer, int], Row]


def next_token(fields: list[str], epoch: int, row: int, tokenizer: Tokenizer, vocabulary: int) -> Row:
    ids = tokenizer.encode(fields[0]).ids
    return {"input_ids": ids, "labels": ids}


def masked_token(fields: list[str], epoch: int, row: int, tokenizer: Tokenizer, vocabulary: int) -> Row:
    ids, labels = masked(tokenizer.encode(fields[0]).ids, epoch, row, vocabulary)
    return {"input_ids": ids, "labels": labels}


def target_token(fields: list[str], epoch: int, row: int, tokenizer: Tokenizer, vocabulary: int) -> Row:
    source, target = (tokenizer.encode(field).ids for field in fields)
    return {"input_ids": source, "labels": target, "decoder_input_ids": [PAD, *target[:-1]]}


def sequence_class(fields: list[str], epoch: int, row: int, tokenizer: Tokenizer, vocabulary: int) -> Row:
    """Labels are names of the first classes and numbers of the others."""
    encoding, label = tokenizer.encode(*fields[:2]), fields[2]
    index = NAMES.index(label) if label in NAMES else int(label)
    return {"input_ids": encoding.ids, "token_type_ids": encoding.type_ids, "labels": [index]}


NAMES = ("no", "yes")
CASES = (
    Case("gpt2-lm", "lines.txt", 1, (), next_token),
    Case("bert-masked-lm", "lines.txt", 1, ("--mask-probability", 0.5), masked_token),
    Case("t5-lm", "pairs.tsv", 2, (), target_token),
    Case("bert-sequence-classification", "classes.tsv", 2, ("--max-length", 14), sequence_class),
)


# --- a checkpoint with words of its own -------------------------------------------------------------


def make_tokenizer(vocabulary: int, path: Path) -> tuple[Tokenizer, list[str]]:
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [f"w{i}" for i in range(vocabulary - len(special))]
    tokens = {token: i for i, token in enumerate(special + words)}
    tokenizer = Tokenizer(models.WordPiece(tokens, unk_token="[UNK]"))
    tokenizer.add_special_tokens(special)
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", START), ("[SEP]", END)],
    )
    tokenizer.save(str(path))
    return tokenizer, words


def make_checkpoint(case: Case, folder: Path) -> tuple[Path, int]:
    """The golden one with a tokenizer's ends in its configuration."""
    checkpoint = folder / "checkpoint"
    checkpoint.mkdir()
    config = json.loads((GOLDEN / case.model / "config.json").read_text())
    config |= {"eos_token_id": END, "decoder_start_token_id": PAD} if case.row is target_token else {}
    config |= {"label2id": {name: i for i, name in enumerate(NAMES)}} if case.row is sequence_class else {}
    (checkpoint / "config.json").write_text(json.dumps(config))
    shutil.copy(GOLDEN / case.model / "model.safetensors", checkpoint)
    return checkpoint, config["vocab_size"]


def make_lines(case: Case, words: list[str]) -> list[list[str]]:
    chance = random.Random(3)
    text = lambda: " ".join(chance.choices(words, k=chance.randint(1, 5)))
    labels = [[chance.choice([*NAMES, "2"])] if case.row is sequence_class else [] for _ in range(LINES)]
    return [[text() for _ in range(case.texts)] + label for label in labels]


def steps_of(case: Case, lines: list[list[str]], tokenizer: Tokenizer, vocabulary: int) -> Arrays:
    def row(epoch: int, index: int) -> Row:
        return case.row(lines[index], epoch, index, tokenizer, vocabulary)

    first = [row(0, index) for index in range(len(lines))]
    lengths = [sum(len(values) for name, values in one.items() if name.endswith("input_ids")) for one in first]
    names = list(row(0, 0))
    steps: dict[str, list[np.ndarray]] = {}
    plan = list(batches(lengths))
    for epoch, indexes in plan:
        rows = [row(epoch, index) for index in indexes]
        for name in names:
            values = [one[name] for one in rows]
            fill = IGNORED if name == "labels" else PAD
            steps.setdefault(name, []).append(padded(values, fill, (ROWS, LENGTH)))
            if name.endswith("input_ids"):
                mask = name.replace("input_ids", "attention_mask")
                steps.setdefault(mask, []).append(padded([[1] * len(ids) for ids in values], 0, (ROWS, LENGTH)))
    result = {name: np.stack(values) for name, values in steps.items()}
    if case.row is sequence_class:
        result["labels"] = result["labels"][:, :, 0].copy()
    return result


# --- tests -----------------------------------------------------------------------------------------


class Trainer:
    def __init__(self, compiler: Path, case: Case, folder: Path):
        self.folder = folder
        self.checkpoint, self.vocabulary = make_checkpoint(case, folder)
        self.tokenizer, words = make_tokenizer(self.vocabulary, self.checkpoint / "tokenizer.json")
        self.program = folder / "program"
        compile_program(compiler, self.checkpoint, self.program, "--mode", "train")
        self.lines = make_lines(case, words)
        self.file = folder / case.file
        self.file.write_text("".join("\t".join(fields) + "\n" for fields in self.lines))
        self.batching = ("--epochs", EPOCHS, "--batch-size", ROWS, *case.options)

    def command(self, data: Path, *options: object) -> list[object]:
        return [self.program, "train", "--weights", self.checkpoint, "--data", data, "--seed", SEED, *options]

    def run(self, name: str, data: Path, *options: object) -> tuple[str, bytes]:
        """Its log and weights."""
        log, save = self.folder / f"{name}.jsonl", self.folder / name
        done = execute(self.command(data, "--log", log, "--save", save, *options))
        if done.code != 0:
            raise RuntimeError(f"{name}: exit code {done.code}: {done.complaint()}")
        return log.read_text(), (save / "model.safetensors").read_bytes()


def check_case(compiler: Path, case: Case, folder: Path) -> str | None:
    trainer = Trainer(compiler, case, folder)
    steps = steps_of(case, trainer.lines, trainer.tokenizer, trainer.vocabulary)
    save_file(steps, folder / "steps.safetensors")
    save_file({name: values[: len(values) // EPOCHS] for name, values in steps.items()}, folder / "epoch.safetensors")
    expected = trainer.run("steps", folder / "steps.safetensors", "--eval-data", folder / "epoch.safetensors")
    if len(expected[0].splitlines()) != EPOCHS * -(-LINES // ROWS) + 1:
        return "steps.safetensors has other steps than the test means"
    text = ("--eval-data", trainer.file, *trainer.batching)
    found = trainer.run("text", trainer.file, *text)
    if found != expected:
        pairs = zip(found[0].splitlines(), expected[0].splitlines())
        first = next((f"{a}, expected {b}" for a, b in pairs if a != b), "weights or the number of steps")
        return f"other steps than those of the safetensors file: {first}"
    trainer.run("half", trainer.file, *text, "--steps", 5)
    log, weights = trainer.run("rest", trainer.file, *text, "--resume", folder / "half")
    if (log.splitlines(), weights) != (expected[0].splitlines()[5:], expected[1]):
        return "a resumed run is given other rows than an unbroken one"
    return None


def check_errors(compiler: Path, folder: Path, report: Report) -> None:
    trainer = Trainer(compiler, CASES[2], folder)

    def check(name: str, text: bytes, words: tuple[str, ...], *options: object, file: str = "bad.tsv") -> None:
        (folder / file).write_bytes(text)
        report.add(f"train_text/{name}", why_not_clean_error(execute(trainer.command(folder / file, *options)), words))

    check("no TAB", b"w1\tw2\n\nw1 w2\n", (r"bad\.tsv: line 3: expected SOURCE<TAB>TARGET, found 0 TABs",))
    check("not UTF-8", b"w1\tw2\nw1\tw\xff\n", (r"bad\.tsv: line 2: not UTF-8",))
    check("empty", b"\n\n", (r"bad\.tsv: expected lines of text, found none",))
    check("other ending", b"w1\n", (r"bad\.txt: .*target_token, takes a \.tsv file",), file="bad.txt")
    check("more steps", b"w1\tw2\n", (r"--steps 3: .*bad\.tsv has 2",), "--epochs", 2, "--steps", 3)
    check("two sizes", b"w1\tw2\n", ("--batch-size", "--batch-tokens"), "--batch-size", 2, "--batch-tokens", 9)
    check("blocks of pairs", b"w1\tw2\n", ("--block-size is for a .txt file",), "--block-size", 4)
    check("no tokenizer", b"w1\tw2\n", (r"nowhere",), "--tokenizer", "/nowhere/tokenizer.json")
    check("steps by epochs", b"", (r"--epochs is for text",), "--epochs", 2, file="steps.safetensors")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    compiler = parser.parse_args().compile.resolve()
    report = Report()
    for case in CASES:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                reason = check_case(compiler, case, Path(scratch))
            except RuntimeError as error:
                reason = str(error)
            report.add(f"train_text/{case.model}", reason)
    with tempfile.TemporaryDirectory() as scratch:
        check_errors(compiler, Path(scratch), report)
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
