#!/usr/bin/env python3
"""`generate` beside transformers' generate(): the same sequences, for batches with padding, of greedy search, beams
and what changes scores; and what does not depend on the batch."""

import json
import re
import shutil
import sys

import numpy as np
from generation_checks import Case, bench_problem, character_tokenizer, padded, run, samples, text_problem
from harness import Report, compile_program, execute

SEARCHES = {
    "greedy": {},
    "greedy, penalties": {"repetition_penalty": 1.3, "no_repeat_ngram_size": 2},
    "beams": {"num_beams": 4},
    "beams, length penalty, all of them": {"num_beams": 3, "length_penalty": 1.7, "num_return_sequences": 3},
    "beams, penalties": {"num_beams": 5, "repetition_penalty": 1.2, "no_repeat_ngram_size": 3},
}


def check(case: Case, name: str, report: Report) -> None:
    random = np.random.default_rng(11)
    prompts = [random.integers(0, case.vocabulary, n) for n in case.lengths]
    for search, options in SEARCHES.items():
        # A row at a time where transformers takes padding for more: its penalties for tokens that were there; and
        # its BLOOM in float64 makes NaN of it.
        alone = case.family == "bloom" or "repetition_penalty" in options or "no_repeat_ngram_size" in options
        batches = [[prompt] for prompt in prompts] if alone else [prompts]
        problem = None
        for batch in batches:
            problem = problem or case.problem(padded(batch, case.fill), options)
        report.add(f"{name}, {search}", problem)
    report.add(f"{name}, samples of a batch", samples(case, prompts))


def lines_problem(case: Case) -> str | None:
    """--file: what each line becomes alone, in the order of the lines, whatever is in work at once."""
    tokenizer = character_tokenizer(case)
    random = np.random.default_rng(3)
    prompts = [random.integers(0, case.vocabulary, n) for n in (3, case.lengths[2], 1, 7, 2, 5, 4)]
    lines = [tokenizer.decode(prompt.tolist()) for prompt in prompts]
    expected = []
    for prompt, line in zip(prompts, lines):
        inputs = {"input_ids": prompt[None], "attention_mask": np.ones_like(prompt)[None]}
        sequence = case.expected(inputs, {})[0, len(prompt) :].tolist()
        expected.append({"prompt": line, "sequences": [tokenizer.decode(sequence)]})
    (case.folder / "prompts.txt").write_text("\n".join(lines) + "\n")
    for options in ([], ["--batch-size", "2"], ["--batch-size", "3", "--batch-tokens", "4"]):
        command = [case.program, "generate", "-w", case.source, "--tokenizer", case.folder / "tokenizer.json"]
        done = execute([*command, "--file", case.folder / "prompts.txt", "--max-new-tokens", str(case.new), *options])
        if done.code != 0:
            return f"exit code {done.code}: {done.complaint()}"
        if (found := [json.loads(line) for line in done.stdout.splitlines()]) != expected:
            return f"{options}: expected {expected}, found {found}"
        if not re.match(rf"7 prompts, {7 * case.new} new tokens in [\d.]+ s, ", done.stderr):
            return f"found {done.stderr!r}"
    return None


def embedded_problem(case: Case) -> str | None:
    """A program with all inside, its generation_config.json, too, which --set changes."""
    tokenizer, folder = character_tokenizer(case), case.folder / "whole"
    shutil.copytree(case.source, folder)
    shutil.copy(case.folder / "tokenizer.json", folder)
    (folder / "generation_config.json").write_text(json.dumps({"max_new_tokens": case.new} | case.tokens))
    program = case.folder / "whole.program"
    compile_program(case.compiler, folder, program, "--embed-weights")
    shutil.rmtree(folder)
    prompt = tokenizer.decode(list(range(3, 9)))
    inputs = padded([np.array(tokenizer.encode(prompt).ids)], case.fill)
    expected = case.expected(inputs, {})[0, case.begin(inputs) :].tolist()
    for options, length in (([], case.new), (["--set", "max_new_tokens=3", "--set", "early_stopping=never"], 3)):
        done = execute([program, "generate", "--prompt", prompt, *options])
        if done.code != 0 or done.stdout != tokenizer.decode(expected[:length]) + "\n":
            return f"{options}: expected {expected[:length]}, found {done.stdout!r}; {done.complaint()}"
    return None


BAD = {
    "a token that is none": ({"input_ids": [[10**6]]}, [], ("input_ids", "1000000")),
    "no token": ({"input_ids": [[1]], "attention_mask": [[0]]}, [], ("attention_mask", "only padding")),
    "a mask of another shape": ({"input_ids": [[1, 2]], "attention_mask": [[1]]}, [], ("attention_mask", r"\[1, 2\]")),
    "an unknown input": ({"ids": [[1]]}, [], ("ids", "input_ids")),
    "too many tokens": ({"input_ids": [[1]]}, ["--max-new-tokens", "100000"], ("prompt 1", "positions")),
    "no beams": ({"input_ids": [[1]]}, ["--num-beams", "0"], ("num_beams|num-beams",)),
    "a setting without value": ({"input_ids": [[1]]}, ["--set", "top_k"], ("--set top_k", "FIELD=VALUE")),
    "an unknown setting": ({"input_ids": [[1]]}, ["--set", "top=3"], ("--set top", "no field")),
    "a setting that is no number": ({"input_ids": [[1]]}, ["--set", "top_p=a"], ("--set top_p", "a number")),
    "a chat": ({"input_ids": [[1]]}, ["--chat"], ("--chat", "chat_template")),
    "a temperature of 0": ({"input_ids": [[1]]}, ["--do-sample", "--temperature", "0"], ("temperature",)),
}


def main() -> int:
    problems = {"text": text_problem, "lines": lines_problem, "embedded": embedded_problem, "bench": bench_problem}
    return run(__doc__, "generate_answers.npz", Case, check, BAD, problems, "gpt2-lm")


if __name__ == "__main__":
    sys.exit(main())
