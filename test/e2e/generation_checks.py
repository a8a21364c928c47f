"""What the tests of `generate` share: cases and what transformers says of them, checks of any model, bad input."""

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from harness import GOLDEN, Report, compile_program, execute, why_not_clean_error
from safetensors.numpy import load_file, save_file
from tokenizers import Tokenizer, decoders, models

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent))
from recorded import Answers, add_options  # noqa: E402

LENGTHS, NEW = (5, 1, 70, 64), 72


def words(options: dict[str, object]) -> list[str]:
    """On a command line; true is a flag."""
    flags = {name: "--" + name.replace("_", "-") for name in options}
    return [word for name, value in options.items() for word in ([flags[name]] if value is True else [flags[name], str(value)])]


class Case:
    """A golden case's program, and what transformers says of the model in float64."""

    loader = "AutoModelForCausalLM"
    tokens: dict[str, object] = {}  # that a generation_config.json must have
    pads_left = True

    def __init__(self, name: str, compiler: Path, folder: Path, answers: Answers, source: Path | None = None) -> None:
        self.name, self.source, self.folder, self.program = name, source or GOLDEN / name, folder, folder / "program"
        self.answers, self.model, self.compiler = answers, None, compiler
        compile_program(compiler, self.source, self.program)
        config = answers.get(f"{name}, config", name, self.settings)
        self.family, self.vocabulary, self.fill = config["family"], config["vocabulary"], config["fill"]
        self.new = min(NEW, config["limit"] // 2)
        self.lengths = [min(n, config["limit"] - self.new) for n in LENGTHS]

    def load(self) -> object:
        import torch
        import transformers

        if self.model is None:
            transformers.logging.set_verbosity_error()
            transformers.logging.disable_progress_bar()
            loader = getattr(transformers, self.loader)
            self.model = loader.from_pretrained(self.source, dtype=torch.float64).eval()
        return self.model

    def begin(self, inputs: dict[str, np.ndarray]) -> int:
        """The column of sequences where what is new begins."""
        return inputs["input_ids"].shape[1]

    def settings(self) -> dict[str, object]:
        """Of transformers' configuration, defaults and all."""
        model = self.load()
        config, eos = model.config, model.generation_config.eos_token_id
        first = eos[0] if isinstance(eos, list) else eos
        fill = next(token for token in (model.generation_config.pad_token_id, first, 0) if token is not None)
        limit = getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 10**6
        return {"family": config.model_type, "vocabulary": config.vocab_size, "fill": fill, "limit": limit}

    def generate(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> np.ndarray:
        files = [self.folder / "in.safetensors", self.folder / "out.safetensors"]
        save_file(inputs, files[0])
        command = [self.program, "generate", "-w", self.source, "-i", files[0], "-o", files[1]]
        length = [] if self.new is None else ["--max-new-tokens", str(self.new)]
        done = execute([*command, *length, *words(options)])
        if done.code != 0:
            raise RuntimeError(f"exit code {done.code}: {done.complaint()}")
        return load_file(files[1])["sequences"]

    def expected(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> np.ndarray:
        asked = [*(tensor.tolist() for tensor in inputs.values()), self.new, options]
        return np.array(self.answers.get(f"{self.name}, {json.dumps(options)}", asked,
                                         lambda: self.ask(inputs, options)))  # fmt: skip

    def ask(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> list[list[int]]:
        import torch

        tensors = {name: torch.from_numpy(tensor) for name, tensor in inputs.items()}
        length = {} if self.new is None else {"max_new_tokens": self.new}
        settings = length | {"pad_token_id": self.fill} | options
        with torch.no_grad():
            return self.load().generate(**tensors, **settings).tolist()

    def problem(self, inputs: dict[str, np.ndarray], options: dict[str, object]) -> str | None:
        return differs(self.generate(inputs, options), self.expected(inputs, options))


def padded(prompts: list[np.ndarray], fill: int, left: bool = True) -> dict[str, np.ndarray]:
    longest = max(map(len, prompts))
    ids, mask = np.full((len(prompts), longest), fill), np.zeros((len(prompts), longest), np.int64)
    for row, prompt in enumerate(prompts):
        place = slice(longest - len(prompt), None) if left else slice(len(prompt))
        ids[row, place], mask[row, place] = prompt, 1
    return {"input_ids": ids, "attention_mask": mask}


def differs(found: np.ndarray, expected: np.ndarray) -> str | None:
    if found.shape != expected.shape:
        return f"expected {expected.shape}, found {found.shape}"
    if (wrong := np.argwhere(found != expected)).size:
        row, column = wrong[0]
        return f"row {row}, column {column}: expected {expected[row, column]}, found {found[row, column]}"
    return None


def character_tokenizer(case: Case) -> Tokenizer:
    tokenizer = Tokenizer(models.BPE({chr(0xE0 + i): i for i in range(case.vocabulary)}, []))
    tokenizer.decoder = decoders.Fuse()
    tokenizer.save(str(case.folder / "tokenizer.json"))
    return tokenizer


def text_problem(case: Case) -> str | None:
    """--prompt with a tokenizer of single characters, with options and with generation_config.json."""
    tokenizer = character_tokenizer(case)
    prompt = tokenizer.decode(list(range(3, 9)))
    inputs = padded([np.array(tokenizer.encode(prompt).ids)], case.fill)
    expected = tokenizer.decode(case.expected(inputs, {})[0, case.begin(inputs) :])
    command = [case.program, "generate", "-w", case.source, "--tokenizer", case.folder / "tokenizer.json"]
    done = execute([*command, "--prompt", prompt, "--max-new-tokens", str(case.new)])
    if done.code != 0 or done.stdout != expected + "\n":
        return f"expected {expected!r}, found {done.stdout!r}; {done.complaint()}"
    if not re.fullmatch(rf"prompt: 6 tokens, [\d.]+ tokens/second; first token after .* ms; then \d+ tokens, .*\n", done.stderr):
        return f"found {done.stderr!r}"
    # All from the weights' folder.
    stop = expected[4:6]
    shutil.copy(case.source / "model.safetensors", case.folder)
    settings = {"max_new_tokens": case.new, "stop_strings": [stop]} | case.tokens
    (case.folder / "generation_config.json").write_text(json.dumps(settings))
    done = execute([case.program, "generate", "-w", case.folder, "--prompt", prompt])
    if done.code != 0 or done.stdout != expected[: expected.index(stop)] + "\n":
        return f"stop string {stop!r}: expected {expected!r}, found {done.stdout!r}; {done.complaint()}"
    return None


def bench_problem(case: Case) -> str | None:
    command = [case.program, "bench", "-w", case.source, "--lengths", "3,5", "--new-tokens", "4,3", "--repeat", "2", "--json"]
    done = execute(command)
    if done.code != 0:
        return f"exit code {done.code}: {done.complaint()}"
    found = json.loads(done.stdout)
    if found["tokens"] != 7 or len(found["first_token_ms"]) != 2 or not 0 < found["prefill_ms"] < found["max_ms"]:
        return f"expected 7 tokens and a prefill that is a part of a run, found {found}"
    if not found["decode_tokens_per_second"] > 1e3 * 5 / found["max_ms"]:
        return f"expected more tokens a second behind the prompts than in all, found {found}"
    done = execute([*command, "--num-beams", "2"])
    if done.code != 0:
        return f"beams: exit code {done.code}: {done.complaint()}"
    found = json.loads(done.stdout)
    if found["tokens"] != 7 or not found["median_ms"] > 0 or "prefill_ms" in found:
        return f"beams: expected 7 tokens in some time and no prefill, found {found}"
    return None


def samples(case: Case, prompts: list[np.ndarray]) -> str | None:
    """A row's draws are those it has in any other batch where it has the same place."""
    options = {"do_sample": True, "temperature": 1.5, "top_k": 20, "seed": 5}
    found = []
    for batch in (prompts, prompts[:2], prompts[:2]):
        inputs = padded(batch, case.fill, case.pads_left)
        found.append(case.generate(inputs, options)[:, case.begin(inputs) :])
    if any(differs(found[1][row][None], found[2][row][None]) for row in range(2)):
        return "two runs with one seed differ"
    columns = min(batch.shape[1] for batch in found)
    if differs(found[1][:, :columns], found[0][:2, :columns]):
        return "a row's draws depend on the batch"
    if len({tuple(row[:8]) for row in found[0]}) != len(prompts):
        return "rows have the same draws"
    return None


# Inputs and options, and what the error must say, by what is wrong.
BadInputs = dict[str, tuple[dict[str, list[list[int]]], list[str], tuple[str, ...]]]


def check_bad_input(case: Case, name: str, bad: BadInputs, report: Report) -> None:
    for problem, (inputs, options, said) in bad.items():
        out = case.folder / "none.safetensors"
        save_file({key: np.array(value) for key, value in inputs.items()}, case.folder / "bad.safetensors")
        command = [case.program, "generate", "-w", case.source, "-i", case.folder / "bad.safetensors", "-o", out]
        reason = why_not_clean_error(execute([*command, *options]), said)
        report.add(f"{name}: {problem}", reason or ("wrote a file" if out.exists() else None))


def run(
    description: str,
    answers_file: str,
    case_class: type[Case],
    check: Callable[[Case, str, Report], None],
    bad: BadInputs,
    problems: dict[str, Callable[[Case], str | None]],
    thorough: str,
) -> int:
    """Checks the golden cases that the command line names; where the case `thorough` is among them, bad input and
    `problems` with it."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("cases", nargs="+", help="golden cases")
    add_options(parser)
    options = parser.parse_args()
    answers = Answers(HERE / answers_file, options.live, options.record)
    report = Report()
    for name in options.cases:
        with tempfile.TemporaryDirectory() as folder:
            case = case_class(name, options.compile, Path(folder), answers)
            check(case, name, report)
            if name == thorough:
                check_bad_input(case, name, bad, report)
                for what, problem in problems.items():
                    report.add(f"{name}, {what}", problem(case))
    answers.save()
    return report.finish()
