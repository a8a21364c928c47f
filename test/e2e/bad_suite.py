"""What bad_input.py's checks share: a compiler, a program, and how a good error looks."""

import json
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from harness import COMPILE_SECONDS, GOLDEN, Outcome, Report, compile_program, execute, why_not_clean_error
from safetensors.numpy import save

CASE = "bert-model"

Arrays = dict[str, np.ndarray]


class Suite:
    """A compiler, a program compiled from the bert-model case, and a fresh folder for every test."""

    def __init__(self, compiler: Path, scratch: Path, pattern: str):
        self.compiler, self.scratch, self.pattern = compiler, scratch, pattern
        self.report = Report()
        self.count = 0
        self.case = GOLDEN / CASE
        self.config = json.loads((self.case / "config.json").read_text())
        self.weights = self.case / "model.safetensors"
        self.program = scratch / "program"
        compile_program(compiler, self.case, self.program)

    def folder(self) -> Path:
        self.count += 1
        folder = self.scratch / str(self.count)
        (folder / "out").mkdir(parents=True)
        return folder

    def wanted(self, name: str) -> bool:
        return self.pattern in name

    def expect_error(self, name: str, done: Outcome, words: tuple[str, ...], folder: Path) -> None:
        reason = why_not_clean_error(done, words)
        left = sorted(path.name for path in (folder / "out").iterdir())
        if reason is None and left:
            reason = f"left {', '.join(left)}"
        self.report.add(name, reason)

    # --- compiling ---

    def compile_path(self, name: str, source: Path, words: tuple[str, ...], folder: Path) -> None:
        done = execute([self.compiler, source, "-o", folder / "out" / "program"], COMPILE_SECONDS)
        self.expect_error(f"compile/{name}", done, words, folder)

    def compile_text(self, name: str, text: str, *words: str) -> None:
        if self.wanted(f"compile/{name}"):
            folder = self.folder()
            (folder / "config.json").write_text(text)
            self.compile_path(name, folder, ("config.json", *words), folder)

    def compile_config(self, name: str, changes: dict, *words: str, case: str = CASE) -> None:
        """Compiles a case's configuration with changes; a value of None removes the field."""
        config = json.loads((GOLDEN / case / "config.json").read_text()) | changes
        config = {key: value for key, value in config.items() if key not in changes or value is not None}
        self.compile_text(name, json.dumps(config, indent=2), *words)

    def compile_options(self, name: str, options: list[str], *words: str) -> None:
        if self.wanted(f"compile/{name}"):
            folder = self.folder()
            output = [] if "no output" in name else ["-o", folder / "out" / "program"]
            done = execute([self.compiler, self.case, *output, *options], COMPILE_SECONDS)
            self.expect_error(f"compile/{name}", done, words, folder)

    # --- running ---

    def good_inputs(self) -> Arrays:
        ids = np.arange(1, 13, dtype=np.int64).reshape(2, 6)
        return {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}

    def write_inputs(self, folder: Path, inputs: Arrays | bytes) -> Path:
        path = folder / "in.safetensors"
        path.write_bytes(inputs if isinstance(inputs, bytes) else save(inputs))
        return path

    def run(self, weights: Path, inputs: Path, output: Path, *options: str) -> Outcome:
        return execute([self.program, "run", "--weights", weights, "--inputs", inputs, "--outputs", output, *options])

    def run_weights(self, name: str, content: bytes, *words: str) -> None:
        if self.wanted(f"weights/{name}"):
            folder = self.folder()
            weights = folder / "weights.safetensors"
            weights.write_bytes(content)
            inputs = self.write_inputs(folder, self.good_inputs())
            done = self.run(weights, inputs, folder / "out" / "out.safetensors")
            self.expect_error(f"weights/{name}", done, ("weights.safetensors", *words), folder)

    def run_inputs(self, name: str, inputs: Arrays | bytes, *words: str) -> None:
        if self.wanted(f"inputs/{name}"):
            folder = self.folder()
            path = self.write_inputs(folder, inputs)
            done = self.run(self.weights, path, folder / "out" / "out.safetensors")
            self.expect_error(f"inputs/{name}", done, words, folder)

    def run_changed(self, name: str, changes: Arrays, *words: str) -> None:
        self.run_inputs(name, self.good_inputs() | changes, *words)

    def run_good(self, name: str, weights: bytes | None, inputs: Arrays) -> None:
        """What looks odd but is no error."""
        if not self.wanted(name):
            return
        folder = self.folder()
        path = self.weights
        if weights is not None:
            path = folder / "weights.safetensors"
            path.write_bytes(weights)
        output = folder / "out" / "out.safetensors"
        done = self.run(path, self.write_inputs(folder, inputs), output)
        reason = None
        if done.code != 0:
            reason = f"exit code {done.code}, expected 0: {done.complaint()}"
        elif not output.exists():
            reason = "no output file"
        self.report.add(name, reason)


@contextmanager
def small_disk(folder: Path, kibibytes: int) -> Iterator[Path | None]:
    """A file system of this size, mounted on `folder`; None where that is not allowed."""
    folder.mkdir()
    done = execute(["mount", "-t", "tmpfs", "-o", f"size={kibibytes}k", "none", folder])
    if done.code != 0:
        yield None
        return
    try:
        yield folder
    finally:
        execute(["umount", folder])


def limit_file_size(size: int) -> None:
    """In a child process: writing beyond `size` bytes is an error, not a signal."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def unwritable(suite: Suite) -> list[tuple[str, Path]]:
    """Paths that nobody can write to, root included."""
    file = suite.scratch / "regular-file"
    file.touch()
    directory = suite.scratch / "directory-there.safetensors"
    directory.mkdir(exist_ok=True)
    return [
        ("output under a file", file / "result.safetensors"),
        ("output in no directory", suite.scratch / "nowhere" / "result.safetensors"),
        ("output is a directory", directory),
    ]
