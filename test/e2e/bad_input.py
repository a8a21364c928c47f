#!/usr/bin/env python3
"""Gives the compiler and a compiled program bad input of every kind.

Each must end with exit code 1, one to three lines on stderr that name the file and the tensor,
field or option, what was expected and what was found, and leave no output file.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import bad_compile
import bad_module
import bad_packed
import bad_train
import bad_use
import numpy as np
from bad_suite import Arrays, Suite, unwritable
from harness import Report, execute, make_raw, read_raw, why_not_clean_error

WORD_EMBEDDINGS = "embeddings.word_embeddings.weight"
BIAS = "encoder.layer.1.output.dense.bias"


# --- weights -----------------------------------------------------------------------------------


def check_weight_bytes(suite: Suite) -> None:
    check, content = suite.run_weights, suite.weights.read_bytes()
    header, data = read_raw(suite.weights)
    text = json.dumps(header).encode()
    for name, size in (("no bytes", 0), ("4 bytes", 4), ("8 bytes", 8), ("half a header", 500)):
        check(f"truncated to {name}", content[:size])
    check("truncated to the header", content[: len(content) - len(data)])
    check("truncated in the data", content[: -len(data) // 2])
    check("truncated by one byte", content[:-1])
    for name, size in (("2^63", 2**63), ("2^64-1", 2**64 - 1), ("2^31", 2**31), ("file size", len(content))):
        check(f"header of {name} bytes", make_raw(text, data, size))
    check("header of 0 bytes", make_raw(b"", data))
    check("header is not json", make_raw(b"x" * 100, data))
    check("header is a list", make_raw(b"[1, 2]", data))
    check("header is not utf-8", make_raw(b'{"\xff\xfe": {}}', data))
    check("header nested lists", make_raw(b"[" * 200_000, data))
    check("header nested objects", make_raw(b'{"a":' * 100_000, data))
    deep = b"[" * 200_000 + b"]" * 200_000
    for field in (b'"dtype": "F32"', b'"shape": [20]'):
        nested = text.replace(field, field[: field.index(b":") + 1] + b"[" + deep + b"]", 1)
        check(f"nested value of {field[1:6].decode()}", make_raw(nested, data), "nested deeper than 64 levels")


def check_weight_entries(suite: Suite) -> None:
    header, data = read_raw(suite.weights)
    entry = header[WORD_EMBEDDINGS]
    begin, end = entry["data_offsets"]
    twin, other = next((name, value) for name, value in header.items() if value.get("shape") == [20] and name != BIAS)

    def check(name: str, changes: dict, *words: str, tensor: str = WORD_EMBEDDINGS) -> None:
        changed = header | {tensor: {**header[tensor], **changes}}
        suite.run_weights(name, make_raw(changed, data), tensor.replace(".", r"\."), *words)

    overlapping = header | {BIAS: {**header[BIAS], "data_offsets": other["data_offsets"]}}
    suite.run_weights("overlapping", make_raw(overlapping, data), f"{BIAS}|{twin}")
    shift = len(data) + 4 - end
    check("out of range", {"data_offsets": [begin + shift, end + shift]})
    check("far out of range", {"data_offsets": [2**62, 2**62 + end - begin]})
    check("negative offsets", {"data_offsets": [-(end - begin), 0]})
    check("end before begin", {"data_offsets": [end, begin]})
    check("offsets beyond 64 bits", {"data_offsets": [2**64, 2**64 + end - begin]})
    check("fractional offsets", {"data_offsets": [begin + 0.5, end + 0.5]})
    check("one offset", {"data_offsets": [begin]})
    check("offsets are text", {"data_offsets": "everything"})
    check("bytes do not fit the shape", {"shape": [51, 19]})
    check("shape overflows", {"shape": [2**32, 2**32], "data_offsets": [begin, begin]})
    check("negative shape", {"shape": [-51, -20]})
    check("shape is text", {"shape": "51x20"})
    check("shape of 100,000 sizes", {"shape": [1] * 100_000}, "100000 sizes")
    check("unknown dtype", {"dtype": "F99"}, "F99")
    check("wrong dtype", {"dtype": "I32"}, "I32|int32")
    check("wrong shape", {"shape": [20, 51]}, r"20\D+51", r"51\D+20")
    check("wrong rank", {"shape": [51 * 20]}, "1020", r"51\D+20")
    check("wrong size", {"shape": [10], "data_offsets": [header[BIAS]["data_offsets"][0]] * 2}, tensor=BIAS)
    for missing in ("dtype", "shape", "data_offsets"):
        less = {key: value for key, value in entry.items() if key != missing}
        content = make_raw(header | {WORD_EMBEDDINGS: less}, data)
        suite.run_weights(f"entry without {missing}", content, WORD_EMBEDDINGS)
    suite.run_weights("entry is a number", make_raw(header | {WORD_EMBEDDINGS: 3}, data), WORD_EMBEDDINGS)


def without_tensors(suite: Suite, *names: str) -> bytes:
    """The weights without some tensors, their bytes gone too."""
    header, data = read_raw(suite.weights)
    kept, parts, offset = {}, [], 0
    for name, entry in header.items():
        if name in names or name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        kept[name] = entry | {"data_offsets": [offset, offset + end - begin]}
        parts.append(data[begin:end])
        offset += end - begin
    return make_raw(kept, b"".join(parts))


def check_weight_sets(suite: Suite) -> None:
    header, data = read_raw(suite.weights)
    suite.run_weights("missing tensor", without_tensors(suite, BIAS), BIAS)
    suite.run_weights("no tensors", make_raw({}, b""), r"\w+\.weight|\w+\.bias")
    extra = header | {"extra": {"dtype": "I64", "shape": [2], "data_offsets": [len(data), len(data) + 16]}}
    suite.run_good("weights/extra tensor is fine", make_raw(extra, data + bytes(16)), suite.good_inputs())
    if suite.wanted("weights/missing file"):
        folder = suite.folder()
        inputs = suite.write_inputs(folder, suite.good_inputs())
        done = suite.run(folder / "nowhere.safetensors", inputs, folder / "out" / "out.safetensors")
        suite.expect_error("weights/missing file", done, (r"nowhere\.safetensors",), folder)
    if suite.wanted("weights/empty folder"):
        folder = suite.folder()
        (folder / "hollow").mkdir()
        inputs = suite.write_inputs(folder, suite.good_inputs())
        done = suite.run(folder / "hollow", inputs, folder / "out" / "out.safetensors")
        suite.expect_error("weights/empty folder", done, ("hollow",), folder)


# --- inputs ------------------------------------------------------------------------------------


def at(suite: Suite, name: str, value: int) -> Arrays:
    """The good input `name` with one value changed."""
    array = suite.good_inputs().get(name, np.zeros((2, 6), np.int64)).copy()
    array[1, 4] = value
    return {name: array}


def check_inputs(suite: Suite) -> None:
    check, good = suite.run_changed, suite.good_inputs()
    ids = good["input_ids"]
    check("id out of range", at(suite, "input_ids", 51), "input_ids", r"\b51\b")
    check("id far out of range", at(suite, "input_ids", 2**62), "input_ids", str(2**62))
    check("negative id", at(suite, "input_ids", -1), "input_ids", r"-1\b")
    check("segment out of range", at(suite, "token_type_ids", 2), "token_type_ids", r"\b2\b")
    check("negative segment", at(suite, "token_type_ids", -1), "token_type_ids", r"-1\b")
    check("position out of range", at(suite, "position_ids", 14), "position_ids", r"\b14\b")
    for name in ("input_ids", "attention_mask"):  # a runtime may take whole numbers stored as floats, not these
        check(f"{name} is fractions", {name: ids.astype(np.float32) + 0.5}, name, "f32|float", "i64|int")
    check("mask has fewer columns", {"attention_mask": ids[:, :5].copy()}, "attention_mask", r"\b5\b", r"\b6\b")
    check("mask has fewer rows", {"attention_mask": ids[:1].copy()}, "attention_mask", r"\b1\b", r"\b2\b")
    check("mask of rank 1", {"attention_mask": ids[0].copy()}, "attention_mask")
    check("mask of rank 3", {"attention_mask": ids[None].copy()}, "attention_mask")
    check("ids of rank 1", {"input_ids": ids[0].copy()}, "input_ids")
    long = {name: np.ones((2, 15), np.int64) * (name != "token_type_ids") for name in good}
    suite.run_inputs("sequence over the limit", long, "input_ids", r"\b15\b", r"\b14\b")
    suite.run_inputs("no input_ids", {"attention_mask": good["attention_mask"]}, "input_ids")
    suite.run_inputs("nothing", make_raw({}, b""), "input_ids")
    content = suite.write_inputs(suite.folder(), good).read_bytes()
    for name, size in (("no bytes", 0), ("the header", 100), ("one byte less", len(content) - 1)):
        suite.run_inputs(f"truncated to {name}", content[:size], r"in\.safetensors")
    suite.run_inputs("header of 2^63 bytes", make_raw(content[8:], b"", 2**63), r"in\.safetensors")
    masked = good["attention_mask"].copy()
    masked[1] = 0
    suite.run_good("inputs/fully masked row is fine", None, good | {"attention_mask": masked})
    masked = masked * 0
    suite.run_good("inputs/all rows fully masked is fine", None, good | {"attention_mask": masked})


# --- paths and options of the program ----------------------------------------------------------


def check_run_paths(suite: Suite) -> None:
    for name, path in unwritable(suite):
        if suite.wanted(f"run/{name}"):
            folder = suite.folder()
            done = suite.run(suite.weights, suite.write_inputs(folder, suite.good_inputs()), path)
            suite.expect_error(f"run/{name}", done, (path.name,), folder)
    if suite.wanted("run/missing inputs"):
        folder = suite.folder()
        done = suite.run(suite.weights, folder / "nowhere.safetensors", folder / "out" / "out.safetensors")
        suite.expect_error("run/missing inputs", done, (r"nowhere\.safetensors",), folder)
    if suite.wanted("run/failure keeps an older output"):
        suite.report.add("run/failure keeps an older output", older_output(suite))


def older_output(suite: Suite) -> str | None:
    folder = suite.folder()
    output = folder / "out" / "out.safetensors"
    output.write_bytes(b"older")
    done = suite.run(suite.weights, suite.write_inputs(folder, at(suite, "input_ids", 51)), output)
    if output.exists() and output.read_bytes() != b"older":
        return "the output file was overwritten although the run failed"
    return why_not_clean_error(done, ("input_ids",))


def check_run_options(suite: Suite) -> None:
    def check(name: str, words: tuple[str, ...], arguments: Callable[[Path, Path], list[object]]) -> None:
        if suite.wanted(f"run/{name}"):
            folder = suite.folder()
            inputs = suite.write_inputs(folder, suite.good_inputs())
            command = [suite.program, *arguments(inputs, folder / "out" / "out.safetensors")]
            suite.expect_error(f"run/{name}", execute(command), words, folder)

    run = ["run", "--weights", suite.weights]
    check("no weights", ("weights",), lambda i, o: ["run", "--inputs", i, "--outputs", o])
    check("no inputs", ("inputs",), lambda i, o: [*run, "--outputs", o])
    check("no outputs", ("outputs",), lambda i, o: [*run, "--inputs", i])
    check("no value", ("outputs",), lambda i, o: [*run, "--inputs", i, "--outputs"])
    commands = "run, generate, embed, classify, train, bench, info, tokenize"
    check("no command", (commands,), lambda i, o: [])
    check("unknown command", ("no-such-command", commands), lambda i, o: ["no-such-command"])
    check("unknown option", ("no-such-option",), lambda i, o: [*run, "--no-such-option", "--inputs", i, "--outputs", o])
    for value in ("many", "-1"):
        check(
            f"threads {value}",
            ("threads", value),
            lambda i, o, value=value: [*run, "--inputs", i, "--outputs", o, "--threads", value],
        )


CHECKS = (
    *bad_compile.CHECKS,
    check_weight_bytes,
    check_weight_entries,
    check_weight_sets,
    check_inputs,
    check_run_paths,
    check_run_options,
    *bad_packed.CHECKS,
    *bad_module.CHECKS,
    *bad_use.CHECKS,
    *bad_train.CHECKS,
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--compile", type=Path, required=True, help="transformer-compile")
    parser.add_argument("--only", default="", help="run the tests whose name contains this text")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        try:
            suite = Suite(arguments.compile.resolve(), Path(scratch), arguments.only)
        except RuntimeError as error:
            report = Report()
            report.add("bad_input", str(error))
            return report.finish()
        for check in CHECKS:
            check(suite)
        return suite.report.finish()


if __name__ == "__main__":
    sys.exit(main())
