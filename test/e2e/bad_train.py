"""Bad data, options and checkpoints of training programs, and ones that are killed."""

import random
import subprocess
import time
from pathlib import Path

import numpy as np
from bad_suite import Suite
from harness import GOLDEN, RUN_SECONDS, compile_program, execute
from safetensors.numpy import load_file, save_file

CASE = GOLDEN / "gpt2-lm"
STEPS, ROWS, LENGTH, IDS = 6, 2, 7, 50
KILLS = 12

Arrays = dict[str, np.ndarray]


def good_data(steps: int = STEPS) -> Arrays:
    ids = np.random.default_rng(1).integers(0, IDS, (steps, ROWS, LENGTH))
    return {"input_ids": ids, "labels": ids.copy()}


def changed(tensor: str, index: tuple[int, ...], value: int) -> Arrays:
    data = good_data()
    data[tensor][index] = value
    return data


def check_training(suite: Suite) -> None:
    if not suite.wanted("train"):
        return
    program = suite.scratch / "trainer"
    compile_program(suite.compiler, CASE, program, "--mode", "train")

    def train(data: Path, *options: object) -> list[object]:
        return [program, "train", "--weights", CASE, "--data", data, *options]

    def check(name: str, data: Arrays, words: tuple[str, ...], *options: object) -> None:
        folder = suite.folder()
        file = folder / "data.safetensors"
        save_file(data, file)
        save = () if "--save" in options else ("--log", folder / "log.jsonl")
        suite.expect_error(f"train/{name}", execute(train(file, *save, *options)), words, folder)

    good = good_data()
    ids = good["input_ids"]
    check("unknown tensor", {**good, "labelz": ids}, (r"data\.safetensors.*\"labelz\" is no input, expected input_ids",))
    check("steps", {**good, "labels": ids[:4]}, (r"\"labels\": expected 6 steps, as \"input_ids\" has, found 4",))
    check("no labels", {"input_ids": ids}, ('missing input "labels"',))
    check("no dimension of steps", {**good, "labels": np.array(1)}, (r"expected a first dimension of steps",))
    check("label", changed("labels", (2, 1, 3), IDS), (r"labels: value 50 at row 1, column 3.*\[0, 50\) and not -100",))
    check("label below 0", changed("labels", (0, 0, 0), -5), ("labels: value -5 at row 0, column 0",))
    check("id", changed("input_ids", (1, 0, 0), IDS), ("input_ids: value 50",))
    check("shorter labels", {**good, "labels": ids[:, :, :5]}, (r"labels: expected shape .* found \[2, 5\]",))
    check("more steps", good, (r"--steps 9: .*data\.safetensors has 6",), "--steps", 9)
    check("packed weights and seed", good, ("--(init|packed-weights) excludes --(init|packed-weights)",), "--init", 1, "--packed-weights", "/tmp/none")
    check("definition of weights", good, ("--definition requires --init",), "--definition", CASE)
    check("no checkpoint", good, (r"/nowhere/training\.safetensors",), "--resume", "/nowhere")
    check("no folder", good, ("/proc/x: cannot make the folder",), "--save", "/proc/x")
    folder = suite.folder()
    file = folder / "data.safetensors"
    save_file(good, file)
    for seed in ("x", "-1", "1.5", str(2**64)):
        done = execute([program, "train", "--init", seed, "--data", file])
        suite.expect_error(f"train/seed {seed}", done, ("--init",), folder)
    done = execute([program, "train", "--init", "1", "--data", file, "--definition", folder])
    suite.expect_error("train/no definition", done, ("--definition .*: no config.json in this folder",), folder)
    done = execute([suite.program, "train", "--weights", suite.weights, "--data", file])
    suite.expect_error("train/inference program", done, ("does not train.*--mode train",), folder)
    done = execute([suite.compiler, suite.case, "-o", folder / "out" / "program", "--mode", "train"])
    suite.expect_error("train/no scores", done, ('no @forward with an output "logits"',), folder)

    (folder / "saved").mkdir()
    state = load_training(program, file, folder)
    del state["transformer.wte.weight.exp_avg"]
    save_file(state, folder / "saved" / "training.safetensors")
    done = execute(train(file, "--resume", folder / "saved"))
    suite.expect_error("train/resume without a moment", done, (r"missing tensor \"transformer\.wte\.weight\.exp_avg",), folder)
    check_killed(suite, program)


def load_training(program: Path, data: Path, folder: Path) -> Arrays:
    execute([program, "train", "--weights", CASE, "--data", data, "--save", folder / "trained"])
    return load_file(folder / "trained" / "training.safetensors")


def check_killed(suite: Suite, program: Path) -> None:
    """At random moments: the last checkpoint is whole, and a run that goes on from it ends as an unbroken one."""
    folder = suite.folder()
    file, steps = folder / "data.safetensors", 400
    save_file(good_data(steps), file)
    command = [program, "train", "--weights", CASE, "--data", file]
    begin = time.monotonic()
    execute([*command, "--save", folder / "whole", "--save-every", "3"])
    seconds = time.monotonic() - begin
    whole = (folder / "whole" / "model.safetensors").read_bytes()
    reason, moments = None, random.Random(4)
    for kill in range(KILLS):
        saved = folder / f"killed-{kill}"
        running = subprocess.Popen([*command, "--save", saved, "--save-every", "3"], stderr=subprocess.DEVNULL)
        time.sleep(moments.uniform(0.1, 0.9) * seconds)
        running.kill()
        running.wait(RUN_SECONDS)
        resume = ["--resume", saved] if (saved / "training.safetensors").exists() else []
        done = execute([*command, "--save", saved, *resume])
        if done.code != 0 or (saved / "model.safetensors").read_bytes() != whole:
            reason = f"kill {kill}: {done.stderr.strip() or 'other weights than those of an unbroken run'}"
    suite.report.add("train/killed and resumed", reason)


CHECKS = (check_training,)
