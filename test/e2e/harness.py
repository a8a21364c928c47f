"""What the end-to-end tests share: reports, running programs, safetensors files byte by byte."""

import argparse
import hashlib
import json
import os
import re
import shlex
import struct
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

GOLDEN = Path(__file__).resolve().parent.parent / "golden"
COMPILE_SECONDS, RUN_SECONDS = 300, 120

LINE_CHARACTERS = 1200

# What else programs are compiled with: "--target cuda --arch sm_80" runs a test's programs on a GPU, or on an
# emulated one that LD_LIBRARY_PATH leads to.
TARGET = shlex.split(os.environ.get("TRANSFORMER_TEST_TARGET", ""))

CRASH = re.compile(r"Traceback|terminate called|Assertion|Stack dump|Sanitizer|Segmentation|core dumped", re.I)


@dataclass
class Report:
    """Prints a line a test and the last line; `code` is the exit status."""

    passed: int = 0
    failed: int = 0

    def add(self, name: str, reason: str | None) -> None:
        """Reports a test; `reason` is None when it passed."""
        self.passed += reason is None
        self.failed += reason is not None
        print(f"PASS: {name}" if reason is None else f"FAIL: {name}: {reason}", flush=True)

    def finish(self) -> int:
        print(f"{self.passed} passed, {self.failed} failed")
        return 1 if self.failed or not self.passed else 0


@dataclass
class Outcome:
    """How a command ended; `code` is None when it did not end in time."""

    code: int | None
    stdout: str
    stderr: str
    command: list[str] = field(default_factory=list)

    def complaint(self) -> str:
        return (self.stderr.strip() or self.stdout.strip() or "no message").splitlines()[0][:300]


def execute(command: list[object], seconds: float = RUN_SECONDS, **options: object) -> Outcome:
    """Runs a command; `options` are subprocess.run's."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, capture_output=True, text=True, errors="replace", timeout=seconds, **options)
    except subprocess.TimeoutExpired:
        return Outcome(None, "", f"no end after {seconds} s", words)
    except OSError as error:
        return Outcome(None, "", str(error), words)
    return Outcome(done.returncode, done.stdout, done.stderr, words)


def run_on_gpu(description: str, name: str, check: Callable[..., None], forms: Sequence[str] = ()) -> int:
    """A test's `main`: calls `check` with the compiler, a folder of its own and a report, and those of `forms`, if there
    are any, that --forms leaves; `name` is of what fails without a check to be told of."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    if forms:
        parser.add_argument("--forms", nargs="+", choices=forms, default=forms, help="how numbers are held (default: all)")
    options = parser.parse_args()
    if "cuda" not in TARGET:
        parser.error("TRANSFORMER_TEST_TARGET names no GPU")
    report = Report()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            check(options.compile.resolve(), Path(scratch), report, *([options.forms] if forms else []))
        except RuntimeError as error:
            report.add(name, str(error))
    return report.finish()


def one_of_each_family(cases: Iterable[Path]) -> list[Path]:
    """Of each model type the case with a language model's head, else the plain model, else the first by name."""
    families: dict[str, list[Path]] = {}
    for case in cases:
        families.setdefault(json.loads((case / "config.json").read_text())["model_type"], []).append(case)
    plain = ("-lm", "-model")
    return sorted(min(family, key=lambda case: ([not case.name.endswith(end) for end in plain], case.name)) for family in families.values())


def compile_program(compiler: Path, source: Path, program: Path, *options: str, verify_each: bool = False) -> None:
    """Compiles, verifying the IR after each stage, or after every pass, which takes a quarter longer; or raises
    RuntimeError. What tests compile again with the same options is kept in the folder that TRANSFORMER_TEST_PROGRAMS
    names, if it does."""
    options = (*options, *TARGET)
    kept = _kept(compiler, source, program.suffix, [str(option) for option in options])
    verified = kept and kept.with_suffix(".verified")  # after every pass
    if kept and kept.exists() and (not verify_each or verified.exists()):
        program.unlink(missing_ok=True)
        _copy(kept, program)
        return
    verify = "--verify-each" if verify_each else "--verify-stages"
    done = execute([compiler, source, "-o", program, verify, *options], COMPILE_SECONDS)
    if done.code != 0 or not program.exists():
        raise RuntimeError(f"cannot compile {source}: exit code {done.code}: {done.complaint()}")
    if kept:
        part = Path(tempfile.mkdtemp(dir=kept.parent)) / kept.name
        _copy(program, part)
        part.rename(kept)
        if verify_each:
            verified.touch()


def _copy(source: Path, target: Path) -> None:
    """Another process writes: what this one has open for writing a thread's child has open, too, until it executes
    something else, and meanwhile nobody can run the copy."""
    subprocess.run(["cp", source, target], check=True)


def _kept(compiler: Path, source: Path, suffix: str, options: list[str]) -> Path | None:
    folder = os.environ.get("TRANSFORMER_TEST_PROGRAMS")
    if not folder:
        return None
    named = re.split(r" (?=--)", " ".join(options))  # the same in another order or twice is the same program
    words = sorted(set(named) - {"", "--arch native", "--weights-dtype f32", "--activations-dtype f32"})
    digest = hashlib.sha256(f"{compiler} {compiler.stat().st_mtime_ns} {suffix} {words}".encode())
    for file in sorted(source.rglob("*")) if source.is_dir() else [source]:
        if file.is_file():
            digest.update(file.name.encode() + hashlib.sha256(file.read_bytes()).digest())
    Path(folder).mkdir(parents=True, exist_ok=True)
    return Path(folder) / digest.hexdigest()


def why_not_clean_error(done: Outcome, words: tuple[str, ...]) -> str | None:
    """What an error report lacks: exit code 1, one to three lines of a length to be read, every one of the words
    (expressions)."""
    lines = [line for line in done.stderr.splitlines() if line.strip()]
    if done.code is None:
        return done.stderr
    if done.code < 0:
        return f"killed by signal {-done.code}"
    if done.code != 1:
        return f"exit code {done.code}, expected 1; stderr: {done.complaint()}"
    if not 1 <= len(lines) <= 3:
        return f"{len(lines)} lines on stderr, expected 1 to 3; stderr: {done.complaint()}"
    if (longest := max(map(len, lines))) > LINE_CHARACTERS:
        return f"a line of {longest} characters on stderr"
    if CRASH.search(done.stderr):
        return f"looks like a crash: {done.complaint()}"
    for word in words:
        if not re.search(word, done.stderr, re.IGNORECASE | re.MULTILINE):
            return f"stderr lacks /{word}/: {' | '.join(lines)[:300]}"
    return None


def read_raw(path: Path) -> tuple[dict, bytes]:
    """A safetensors file's header and data."""
    content = path.read_bytes()
    (size,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + size]), content[8 + size :]


def make_raw(header: dict | bytes, data: bytes, size: int | None = None) -> bytes:
    """A safetensors file from a header, valid or not, with a header size other than its own if given."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(text) if size is None else size) + text + data
