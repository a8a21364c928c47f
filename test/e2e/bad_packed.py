"""Bad files for --packed-weights: what is no such file is refused and kept, what is damaged or stale is made again."""

import os
import random
from pathlib import Path

import numpy as np
from bad_suite import Suite, unwritable
from harness import Outcome, execute, make_raw, read_raw, why_not_clean_error

WRITTEN = "packed weights written"
HEAD = b"transformer-mlir packed weights 4\n"


def run(suite: Suite, folder: Path, packed: Path, weights: Path | None = None) -> tuple[Outcome, bytes | None]:
    """Runs the good inputs; also what the output file holds."""
    output = folder / "out" / "out.safetensors"
    output.unlink(missing_ok=True)
    inputs = suite.write_inputs(folder, suite.good_inputs())
    done = suite.run(weights or suite.weights, inputs, output, "--packed-weights", packed)
    return done, output.read_bytes() if output.exists() else None


def good(suite: Suite) -> tuple[Path, bytes]:
    """A file of packed weights, and the output that goes with it."""
    folder = suite.folder()
    done, output = run(suite, folder, folder / "model.packed")
    if done.code != 0 or output is None or WRITTEN not in done.stderr:
        raise RuntimeError(f"cannot make packed weights: exit code {done.code}: {done.complaint()}")
    return folder / "model.packed", output


def why_not_remade(
    suite: Suite, folder: Path, packed: Path, reason: str, output: bytes, weights: Path | None = None
) -> str | None:
    """The file is made again for `reason`, then used; both runs give `output`."""
    for words in ((WRITTEN, reason), ()):
        done, found = run(suite, folder, packed, weights)
        if done.code != 0:
            return f"exit code {done.code}, expected 0: {done.complaint()}"
        if not all(word in done.stderr for word in words) or (not words and done.stderr):
            return f"stderr is {done.stderr.strip()!r}, expected {' ... '.join(words) or 'nothing'}"
        if found != output:
            return "the output differs"
    return None


def check_damaged(suite: Suite) -> None:
    source, output = good(suite)
    content = source.read_bytes()

    def check(name: str, changed: bytes, reason: str, size: int | None = None) -> None:
        if suite.wanted(f"packed/{name}"):
            folder = suite.folder()
            packed = folder / "model.packed"
            packed.write_bytes(changed)
            os.truncate(packed, len(changed) if size is None else size)
            suite.report.add(f"packed/{name}", why_not_remade(suite, folder, packed, reason, output))

    for name, size in (("no bytes", 0), ("10 bytes", 10), ("half its text", 100), ("its text", 2**21)):
        check(f"truncated to {name}", content[:size], f"it had {size} bytes")
    check("truncated by one byte", content[:-1], f"it had {len(content) - 1} bytes")
    check("of a terabyte", content, f"it had {2**40} bytes", 2**40)
    check("another version", content.replace(HEAD, HEAD.replace(b"4", b"3"), 1), "another version")
    check("another program", content.replace(b"program ", b"program f", 1), "another program")
    check("other weights", content.replace(b"modified 1", b"modified 2", 1), "other weights")
    check("all zeros behind its name", content[:32] + bytes(len(content) - 32), "another version")


def check_flipped(suite: Suite) -> None:
    """A flipped bit anywhere is found by who asks: info."""
    if not suite.wanted("packed/flipped bits"):
        return
    packed, _ = good(suite)
    content = packed.read_bytes()
    info = [suite.program, "info", "--weights", suite.weights, "--packed-weights", packed]
    done = execute(info)
    whole = done.code == 0 and "packed     whole, made by this program from these weights" in done.stdout
    suite.report.add("packed/info of a whole file", None if whole else done.complaint())
    generator = random.Random(1)
    for i in range(20):
        place = generator.randrange(2**21 if i % 2 else len(HEAD), len(content))
        bit = generator.randrange(8)
        packed.write_bytes(content[:place] + bytes([content[place] ^ 1 << bit]) + content[place + 1 :])
        name = f"packed/flipped bits: byte {place}, bit {bit}"
        suite.report.add(name, why_not_clean_error(execute(info), (packed.name, "damaged")))


def check_stale(suite: Suite) -> None:
    """Weights that change: the result is that of the new ones."""
    if not suite.wanted("packed/changed weights"):
        return
    packed, _ = good(suite)
    folder = suite.folder()
    header, data = read_raw(suite.weights)
    weights = folder / "weights.safetensors"
    weights.write_bytes(make_raw(header, (np.frombuffer(data, np.float32) * 1.5).tobytes()))
    done, output = run(suite, folder, folder / "new.packed", weights)
    reason = None if done.code == 0 else f"exit code {done.code}: {done.complaint()}"
    reason = reason or why_not_remade(suite, folder, packed, "other weights", output, weights)
    suite.report.add("packed/changed weights", reason)


def check_refused(suite: Suite) -> None:
    def check(name: str, packed: Path, *words: str) -> None:
        if suite.wanted(f"packed/{name}"):
            before = packed.read_bytes() if packed.is_file() else None
            folder = suite.folder()
            done, _ = run(suite, folder, packed)
            reason = why_not_clean_error(done, (packed.name, *words))
            if reason is None and before is not None and packed.read_bytes() != before:
                reason = "the file was overwritten"
            if reason is None and any((folder / "out").iterdir()):
                reason = "left an output file"
            suite.report.add(f"packed/{name}", reason)

    folder = suite.folder()
    (folder / "notes.txt").write_text("my notes")
    (folder / "copy.safetensors").write_bytes(suite.weights.read_bytes())
    os.mkfifo(folder / "pipe")
    check("a text", folder / "notes.txt", "not a file of packed weights", "not overwritten")
    check("weights", folder / "copy.safetensors", "not a file of packed weights", "not overwritten")
    check("a pipe", folder / "pipe", "not a regular file")
    check("a device", Path("/dev/null"), "not a regular file")
    for name, path in unwritable(suite):
        check(name.replace("output ", ""), path)


def check_unwritable(suite: Suite) -> None:
    """A folder that cannot be written to, not even by root: a warning, and the result as without."""
    if suite.wanted("packed/read-only folder"):
        _, output = good(suite)
        done, found = run(suite, suite.folder(), Path("/proc/model.packed"))
        reason = None
        if done.code != 0:
            reason = f"exit code {done.code}, expected 0: {done.complaint()}"
        elif not done.stderr.startswith("warning: /proc/model.packed: cannot write"):
            reason = f"stderr is {done.stderr.strip()!r}, expected a warning"
        elif found != output:
            reason = "the output differs"
        suite.report.add("packed/read-only folder", reason)


CHECKS = (check_damaged, check_flipped, check_stale, check_refused, check_unwritable)
