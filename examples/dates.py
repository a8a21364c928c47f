#!/usr/bin/env python3
"""Dates as people write them and as ISO 8601 does, for a small Transformer to learn.

usage: dates.py make FOLDER [--lines N]
       dates.py score FOLDER/test.tsv ANSWERS

`make` writes FOLDER/train.tsv, valid.tsv and test.tsv with lines SOURCE<TAB>TARGET ("the 3rd of March, 1987" and
"1987-03-03"), test.txt with the sources of test.tsv, and FOLDER/model with config.json and tokenizer.json of a model
without weights. The same call gives the same files. Every day is in one of the three files only: days of valid.tsv
and test.tsv are not learned in any form.

`score` compares what `generate --file FOLDER/test.txt` has written with the targets; its exit code is 0 when 99 %
are exact. Needs nothing but Python.

All forms have one meaning: years are 1950 to 2049, so two digits are enough; between dots the day comes first; where
slashes or dashes leave day and month in either order, the day is greater than 12.
"""

import argparse
import json
import random
import sys
from datetime import date, timedelta
from pathlib import Path

FIRST, LAST = date(1950, 1, 1), date(2049, 12, 31)
TEST_DAYS, VALID_DAYS, TRAIN_LINES = 1000, 500, 80000
EXPECTED = 0.99  # of the answers are exact

MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
ORDINALS = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth",
)  # fmt: skip

WITH_NAMES = (
    "{day} {month} {year}", "{day} {month}, {year}", "{ordinal} of {month} {year}", "{ordinal} of {month}, {year}",
    "the {ordinal} of {month}, {year}", "{month} {day} {year}", "{month} {day}, {year}", "{month} the {ordinal}, {year}",
    "{d}-{month}-{year}", "{yyyy} {month} {day}", "{yyyy}, {day} {month}", "{yyyy}-{month}-{dd}",
)  # fmt: skip
WITH_NUMBERS = ("{d}.{m}.{year}", "{dd}.{mm}.{yyyy}", "{yyyy}/{mm}/{dd}", "{yyyy}/{m}/{d}", "{yyyy}{mm}{dd}")
IN_EITHER_ORDER = ("{d}/{m}/{year}", "{m}/{d}/{year}", "{dd}-{mm}-{year}", "{mm}-{dd}-{year}")

# Letters, digits and what stands between them are tokens, each by itself.
SPECIAL = ("<pad>", "<s>", "</s>", "<unk>")
CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ,.-/'()"

# Embeddings are not scaled: PyTorch's begin with a deviation of 1, times sqrt(d_model) they would drown the sinusoids.
CONFIG = {
    "model_type": "transformer", "d_model": 64, "nhead": 4, "num_encoder_layers": 2, "num_decoder_layers": 2,
    "dim_feedforward": 256, "vocab_size": len(SPECIAL) + len(CHARACTERS), "max_position_embeddings": 64,
    "scale_embedding": False, "dropout": 0.0,
    "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


def ordinal_word(n: int) -> str:
    if n <= len(ORDINALS):
        return ORDINALS[n - 1]
    if n == 30:
        return "thirtieth"
    return ("twenty-" if n < 30 else "thirty-") + ORDINALS[n % 10 - 1]


def ordinal_number(n: int) -> str:
    return f"{n}th" if 11 <= n <= 13 else f"{n}{ {1: 'st', 2: 'nd', 3: 'rd'}.get(n % 10, 'th') }"


def free_form(day: date, chance: random.Random) -> str:
    """One of the many ways to write a day."""
    month, weekday = MONTHS[day.month - 1], WEEKDAYS[day.weekday()]
    ordinal = chance.choice((ordinal_number, ordinal_number, ordinal_word))(day.day)
    fields = {
        "d": day.day, "dd": f"{day.day:02}", "m": day.month, "mm": f"{day.month:02}", "yyyy": day.year,
        "ordinal": ordinal, "day": chance.choice((day.day, day.day, f"{day.day:02}", ordinal)),
        "month": chance.choice((month, month, month[:3], month[:3], month[:3] + ".")),
        "year": chance.choice((day.year, day.year, day.year, f"{day.year % 100:02}", f"'{day.year % 100:02}")),
    }  # fmt: skip
    numbers = WITH_NUMBERS + (IN_EITHER_ORDER if day.day > 12 else ())
    text = chance.choice(chance.choice((WITH_NAMES, WITH_NAMES, numbers))).format(**fields)
    before = chance.choice((weekday, weekday[:3])) + chance.choice((" ", ", "))
    text = chance.choice((text, text, text, before + text, before + text, f"{text} ({weekday})"))
    return chance.choice((str, str, str.lower, str.upper))(text)


def write_pairs(path: Path, days: list[date], chance: random.Random) -> list[str]:
    """The sources."""
    sources = [free_form(day, chance) for day in days]
    path.write_text("".join(f"{source}\t{day}\n" for source, day in zip(sources, days)))
    return sources


def write_model(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=1) + "\n")
    tokens = {token: i for i, token in enumerate((*SPECIAL, *CHARACTERS))}
    added = [{"id": i, "content": token, "special": True, "single_word": False, "lstrip": False, "rstrip": False,
              "normalized": False} for i, token in enumerate(SPECIAL)]  # fmt: skip
    model = {"type": "BPE", "unk_token": "<unk>", "vocab": tokens, "merges": []}
    tokenizer = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
                 "pre_tokenizer": None, "post_processor": None, "decoder": {"type": "Fuse"}, "model": model}  # fmt: skip
    (folder / "tokenizer.json").write_text(json.dumps(tokenizer, indent=1) + "\n")


def make(folder: Path, lines: int) -> None:
    chance = random.Random(0)
    days = [FIRST + timedelta(i) for i in range((LAST - FIRST).days + 1)]
    chance.shuffle(days)
    learned = days[TEST_DAYS + VALID_DAYS :]
    write_model(folder / "model")
    write_pairs(folder / "train.tsv", chance.choices(learned, k=lines), chance)
    write_pairs(folder / "valid.tsv", days[TEST_DAYS : TEST_DAYS + VALID_DAYS], chance)
    sources = write_pairs(folder / "test.tsv", days[:TEST_DAYS], chance)
    (folder / "test.txt").write_text("\n".join(sources) + "\n")


def score(pairs: Path, answers: Path) -> bool:
    """Whether enough are exact."""
    expected = [line.split("\t") for line in pairs.read_text().splitlines()]
    found = [json.loads(line) for line in answers.read_text().splitlines()]
    if [line["prompt"] for line in found] != [source for source, _ in expected]:
        sys.exit(f"{answers}: not what generate --file writes for the sources of {pairs}")
    rows = [(source, target, line["sequences"][0]) for (source, target), line in zip(expected, found)]
    wrong = [row for row in rows if row[1] != row[2]]
    for source, _, answer in rows[:10]:
        print(f"{source:48} {answer}")
    for source, target, answer in wrong[:10]:
        print(f"{source:48} {answer}  wrong: {target}")
    exact = 1 - len(wrong) / len(rows)
    print(f"{len(rows) - len(wrong)} of {len(rows)} held-out dates exact: {100 * exact:.1f} %")
    return exact >= EXPECTED


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write data and a model's definition")
    making.add_argument("folder", type=Path)
    making.add_argument("--lines", type=int, default=TRAIN_LINES, help="of train.tsv")
    scoring = commands.add_parser("score", help="compare answers with targets")
    scoring.add_argument("pairs", type=Path)
    scoring.add_argument("answers", type=Path)
    options = parser.parse_args()
    if options.command == "score":
        return 0 if score(options.pairs, options.answers) else 1
    make(options.folder, options.lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
