"""Checks of a range of seeds, a line each, by as many threads as there are cores."""

import argparse
import collections
import os
import shutil
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

from harness import Report

ENDS: collections.Counter[str] = collections.Counter()  # of seeds, by what a check says of them


def add_options(parser: argparse.ArgumentParser, what: str) -> None:
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, default=100, help=f"how many {what}")
    parser.add_argument("--keep", type=Path, help=f"where {what} that fail are kept")


def seeds_of(options: argparse.Namespace) -> range:
    return range(options.first, options.first + options.count)


def check_seeds(kind: str, options: argparse.Namespace, check: Callable[[Path, int], str | None]) -> int:
    """The exit code. `check` is given a folder of the seed's own and says what is wrong."""

    def check_in_folder(seed: int) -> str | None:
        folder = Path(scratch) / str(seed)
        folder.mkdir()
        try:
            return check(folder, seed)
        except Exception as error:  # of a check, not the end of all others
            return f"{type(error).__name__}: {error}; {traceback.extract_tb(error.__traceback__)[-1]}"

    report = Report()
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(os.cpu_count()) as pool:
        for seed, reason in zip(seeds_of(options), pool.map(check_in_folder, seeds_of(options))):
            report.add(f"{kind}/{seed}", reason and reason.replace("\n", " | "))
            if reason and options.keep:
                shutil.copytree(Path(scratch) / str(seed), options.keep / str(seed), dirs_exist_ok=True)
    for end, count in ENDS.most_common():
        print(f"{count:5} {end}")
    return report.finish()


def check_compiled_seeds(kind: str, what: str, description: str, check: Callable[[Path, Path, int], str | None]) -> int:
    """A script's `main`: `check` is given the compiler, too."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    add_options(parser, what)
    options = parser.parse_args()
    return check_seeds(kind, options, partial(check, options.compile.resolve()))
