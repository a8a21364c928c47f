#!/usr/bin/env python3
"""Compares the modules that the spellings of a configuration give: as transformers 4.x wrote it, as
transformers 5 does, and shortened to what differs from the family's defaults.

A file of the directory holds one configuration: {"4": {...}, "5": {...}, "short": {...}}. The first
is written by hand after checkpoints that people use; --record makes the others of it, with
transformers, which nothing else here needs.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

# What every file of a checkpoint says and no model depends on.
IRRELEVANT = ("transformers_version", "_name_or_path")


def record(path: Path) -> None:
    import transformers

    spellings = {"4": json.loads(path.read_text())["4"]}
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "config.json").write_text(json.dumps(spellings["4"]))
        config = transformers.AutoConfig.from_pretrained(folder)
        config.save_pretrained(folder)
        written = json.loads((Path(folder) / "config.json").read_text())
    spellings["5"] = {name: value for name, value in written.items() if name not in IRRELEVANT}
    defaults = json.loads(type(config)().to_json_string(use_diff=False))
    kept = ("model_type", "architectures")
    short = {name: value for name, value in spellings["5"].items() if name in kept or value != defaults.get(name)}
    spellings["short"] = {name: value for name, value in short.items() if name not in ("dtype", "label2id")}
    path.write_text(json.dumps(spellings, indent=1) + "\n")


def module(importer: str, config: dict, file: Path) -> str:
    """What the importer makes of a configuration, or its complaint."""
    file.write_text(json.dumps(config))
    done = subprocess.run([importer, file, "-o", "-"], capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else done.stderr


def difference(texts: dict[str, str]) -> str:
    """Where the texts part, or nothing."""
    for name, text in texts.items():
        if not text.startswith("module"):
            return f"{name}: {text.strip()}"
        for ours, theirs in zip(text.splitlines(), texts["4"].splitlines()):
            if ours != theirs:
                return f"{name} has {ours.strip()[:200]}, 4 has {theirs.strip()[:200]}"
        if text != texts["4"]:
            return f"{name} has another length than 4"
    return ""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directory", type=Path)
    parser.add_argument("--importer", default="transformer-import")
    parser.add_argument("--record", action="store_true", help="make the spellings 5 and short")
    arguments = parser.parse_args()
    failed = 0
    for path in sorted(arguments.directory.glob("*.json")):
        if arguments.record:
            record(path)
            continue
        with tempfile.TemporaryDirectory() as folder:
            spellings = json.loads(path.read_text())
            texts = {name: module(arguments.importer, spellings[name], Path(folder) / "config.json") for name in ("4", "5", "short")}
        wrong = difference(texts)
        failed += bool(wrong)
        print(f"{'FAIL' if wrong else 'PASS'}: spellings/{path.stem}{': ' if wrong else ''}{wrong}")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
