#!/usr/bin/env python3
"""Debian's packages, to learn the section that a package is in from its one line of description.

usage: package_sections.py make FOLDER CHECKPOINT
       package_sections.py score FOLDER/test.tsv ANSWERS

`make` asks apt (`apt-cache dumpavail`) and writes FOLDER/train.tsv and test.tsv with lines DESCRIPTION<TAB>SECTION
("surreal platform shooting game" and "games"), test.txt with the descriptions of test.tsv, and FOLDER/model, which is
the BERT in the folder CHECKPOINT as a classifier of sections: its tokenizer and weights, which lack the classifier.
Each section has as many lines as any other. A source package gives one line, and so do packages whose descriptions
begin the same ("... - data files", "... (documentation)"): what is in test.tsv has no sibling in train.tsv. Which
lines are where follows from the packages' names; other releases of Debian have other packages, and other lines.

`score` compares what `classify --file FOLDER/test.txt` has written with the sections. With --examples N it shows as
many, the first wrong ones among them; with fewer right ones than --at-least PERCENT it fails. Needs nothing but Python.
"""

import argparse
import hashlib
import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

SECTIONS = ("editors", "fonts", "games", "graphics", "mail", "math", "science", "sound", "text", "web")
TRAIN_LINES, TEST_LINES = 150, 50  # of a section
HEAD = {
    "architectures": ["BertForSequenceClassification"],
    "id2label": {str(i): name for i, name in enumerate(SECTIONS)},
    "label2id": {name: i for i, name in enumerate(SECTIONS)},
}

Pairs = list[tuple[str, str]]  # descriptions and sections


def packages() -> Iterator[dict[str, str]]:
    """The fields of every package that apt offers, as far as they are one line."""
    stanzas = subprocess.run(["apt-cache", "dumpavail"], capture_output=True, text=True, check=True).stdout.split("\n\n")
    for stanza in stanzas:
        fields = dict(re.findall(r"^(\w[\w-]*): (.*)$", stanza, re.MULTILINE))
        if {"Package", "Description", "Section"} <= fields.keys():
            yield fields


def by_section() -> dict[str, Pairs]:
    """Of each section as many pairs as are needed, in an order that means nothing."""
    found: dict[str, Pairs] = {name: [] for name in SECTIONS}
    seen = set()
    for fields in sorted(packages(), key=lambda fields: hashlib.sha256(fields["Package"].encode()).digest()):
        section, description = fields["Section"].split("/")[-1], fields["Description"].strip()  # "contrib/games"
        if section not in found or len(found[section]) == TRAIN_LINES + TEST_LINES:
            continue
        siblings = {
            "source " + fields.get("Source", fields["Package"]).split()[0],
            re.split(r" [(\[]| -+ |[:;,]", description.lower())[0],
        }
        if not siblings & seen:
            found[section].append((description, section))
        seen |= siblings
    for name, pairs in found.items():
        if len(pairs) < TRAIN_LINES + TEST_LINES:
            sys.exit(f"apt knows {len(pairs)} packages of the section {name}, which are too few: apt-get update?")
    return found


def write_model(folder: Path, checkpoint: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    config = json.loads((checkpoint / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | HEAD, indent=1) + "\n")
    for name in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to((checkpoint / name).resolve())


def make(folder: Path, checkpoint: Path) -> None:
    write_model(folder / "model", checkpoint)
    sections = by_section().values()
    for name, part in (("train", slice(TRAIN_LINES)), ("test", slice(TRAIN_LINES, None))):
        pairs = [pair for lines in zip(*(pairs[part] for pairs in sections)) for pair in lines]
        (folder / f"{name}.tsv").write_text("".join(f"{text}\t{section}\n" for text, section in pairs))
        if name == "test":
            (folder / "test.txt").write_text("".join(f"{text}\n" for text, _ in pairs))


def score(pairs: Path, answers: Path, examples: int) -> float:
    """The percentage of right ones."""
    expected = [line.split("\t") for line in pairs.read_text().splitlines()]
    found = [json.loads(line) for line in answers.read_text().splitlines()]
    if [line["text"] for line in found] != [text for text, _ in expected]:
        sys.exit(f"{answers}: not what classify --file writes for the descriptions of {pairs}")
    rows = [(text, section, line["label"], line["score"]) for (text, section), line in zip(expected, found)]
    wrong = [row for row in rows if row[1] != row[2]]
    shown = sorted(wrong[: examples // 3], key=rows.index)
    for text, section, label, certainty in rows[: examples - len(shown)] + shown:
        note = "" if label == section else f"  Debian: {section}"
        print(f"{text[:60]:60}  {label:8} {certainty:.2f}{note}")
    right = len(rows) - len(wrong)
    print(f"{right} of {len(rows)} held-out packages: {100 * right / len(rows):.1f} %")
    if examples and wrong:
        pairs_of_sections = Counter((section, label) for _, section, label, _ in wrong).most_common(3)
        print("most often confused: " + ", ".join(f"{a} with {b} ({n})" for (a, b), n in pairs_of_sections))
    return 100 * right / len(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    making = commands.add_parser("make", help="write data and a checkpoint without a head")
    making.add_argument("folder", type=Path)
    making.add_argument("checkpoint", type=Path)
    scoring = commands.add_parser("score", help="compare answers with sections")
    scoring.add_argument("pairs", type=Path)
    scoring.add_argument("answers", type=Path)
    scoring.add_argument("--examples", type=int, default=0, help="show so many lines")
    scoring.add_argument("--at-least", type=float, default=0, metavar="PERCENT", help="fail with fewer right ones")
    options = parser.parse_args()
    if options.command == "make":
        make(options.folder, options.checkpoint)
    elif score(options.pairs, options.answers, options.examples) < options.at_least:
        sys.exit(f"expected at least {options.at_least:g} %")


if __name__ == "__main__":
    main()
