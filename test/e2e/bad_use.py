"""Files that are pipes, or change while a program uses them."""

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from bad_suite import Suite
from harness import RUN_SECONDS, Outcome, execute


def check_pipes(suite: Suite) -> None:
    """Nobody writes to them, and nobody waits for that."""

    def check(name: str, command: Callable[[Path, Path], list[object]]) -> None:
        if suite.wanted(f"pipes/{name}"):
            folder = suite.folder()
            for file in ("pipe", "pipe.json", "pipe.npy"):
                os.mkfifo(folder / file)
            inputs = suite.write_inputs(folder, suite.good_inputs())
            output = folder / "out" / "out.safetensors"
            done = execute([suite.program, *command(folder, inputs)] + (["-o", output] if "run" in name else []))
            suite.expect_error(f"pipes/{name}", done, (r"pipe(\.json|\.npy)?: not a regular file",), folder)

    weights = suite.weights
    check("run: inputs", lambda f, i: ["run", "-w", weights, "-i", f / "pipe"])
    check("run: inputs of a name", lambda f, i: ["run", "-w", weights, "-i", f"input_ids={f / 'pipe.npy'}"])
    check("run: weights", lambda f, i: ["run", "-w", f / "pipe", "-i", i])
    check("run: index of weights", lambda f, i: ["run", "-w", f / "pipe.json", "-i", i])
    check("bench: inputs", lambda f, i: ["bench", "-w", weights, "-i", f / "pipe"])
    check("tokenize: tokenizer", lambda f, i: ["tokenize", "--tokenizer", f / "pipe.json", "--text", "a"])
    check("info: packed weights", lambda f, i: ["info", "--packed-weights", f / "pipe"])


def check_standard_input(suite: Suite) -> None:
    """What may be a pipe: the texts."""
    if not suite.wanted("pipes/texts from standard input"):
        return
    folder = suite.folder()
    tokens = {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "a": 5}
    (folder / "vocab.txt").write_text("\n".join(tokens) + "\n")
    for source in ("-", "/dev/stdin"):
        command = [suite.program, "tokenize", "--tokenizer", folder / "vocab.txt", "--file", source]
        done = execute(command, input="a b\na\n")
        good = (done.code, done.stdout) == (0, "2 5 1 3\n2 5 3\n")
        reason = None if good else f"exit code {done.code}: {done.stdout} {done.stderr}"
        suite.report.add(f"pipes/texts from {source}", reason)


# --- files that change -------------------------------------------------------------------------


def truncate(file: Path) -> None:
    os.truncate(file, 0)


def rewrite(file: Path) -> None:
    """In place, as `cp` does."""
    content = file.read_bytes()
    with open(file, "wb") as stream:
        stream.write(content)


def touch(file: Path) -> None:
    os.utime(file, ns=(0, 0))


def run_while(command: list[object], file: Path, change: Callable[[Path], None]) -> Outcome:
    """Starts a command that goes on for ever, and changes the file once it is mapped and in use."""
    words = [str(word) for word in command]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    maps = Path(f"/proc/{process.pid}/maps")
    end = time.monotonic() + RUN_SECONDS
    while process.poll() is None and str(file) not in maps.read_text() and time.monotonic() < end:
        time.sleep(0.001)
    change(file)
    try:
        out, err = process.communicate(timeout=RUN_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        return Outcome(None, *process.communicate(), words)
    return Outcome(process.returncode, out, err, words)


def check_changes(suite: Suite) -> None:
    for change in (truncate, rewrite, touch):
        for what in ("weights", "packed weights"):
            name = f"changes/{change.__name__} {what} in use"
            if not suite.wanted(name):
                continue
            folder = suite.folder()
            weights = Path(shutil.copy(suite.weights, folder / "weights.safetensors"))
            packed = folder / "model.packed"
            command = [suite.program, "bench", "-w", weights, "--shape", "2x6", "--packed-weights", packed]
            execute([*command, "--repeat", 1])
            done = run_while([*command, "--repeat", 1 << 24], weights if what == "weights" else packed, change)
            file = re.escape(str(weights if what == "weights" else packed))
            suite.expect_error(name, done, (rf"\Aerror: {file}: .*changed.* while it was in use$",), folder)
    if suite.wanted("changes/replaced weights are fine"):
        suite.report.add("changes/replaced weights are fine", replaced_weights(suite))


def replaced_weights(suite: Suite) -> str | None:
    """A file that takes another's place leaves that one as it was to who has it open."""
    folder = suite.folder()
    weights = Path(shutil.copy(suite.weights, folder / "weights.safetensors"))

    def replace(file: Path) -> None:
        (folder / "new").write_bytes(b"new")
        (folder / "new").rename(file)

    command = [suite.program, "bench", "-w", weights, "--shape", "2x6", "--repeat", 200, "--json"]
    done = run_while(command, weights, replace)
    return None if done.code == 0 and json.loads(done.stdout) else f"exit code {done.code}: {done.complaint()}"


CHECKS = (check_pipes, check_standard_input, check_changes)
