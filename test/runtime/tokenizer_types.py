#!/usr/bin/env python3
"""Compares the runtime's tokenizers with Hugging Face's, type by type: ids, pairs, text of ids.

usage: tokenizer_types.py TOOL [--lines N] [--only NAME] [--speed] [--long] [--charsmap FILE]
  TOOL             build/test/runtime/tokenizer_tool
  --lines N        lines of each type (2,000)
  --only NAME      types whose name contains NAME
  --speed          instead of the comparison: times beside tokenizers, both on one thread
  --long           instead of the comparison: times of lines of 1, 5 and 10 MB, and the peak memory
  --charsmap FILE  base64 of a precompiled_charsmap, instead of one made here
Every line is made from a fixed seed. A line "PASS: ..." or "FAIL: ..." a check; exit code 1 when any
differs.
"""
import argparse
import array
import itertools
import json
import os
import pathlib
import random
import statistics
import struct
import subprocess
import sys
import tempfile
import time

os.environ["RAYON_NUM_THREADS"] = "1"
import tokenizers  # noqa: E402
import tokenizer_lines  # noqa: E402
from tokenizer_families import families  # noqa: E402

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXTRA = ["\n", "\r\n", "\n\n  ", "\t\t", "    ", "'S", "'ll", "\u017f", "'\u017f", "<s>", "</s>", "<mask>", " <mask> ",
         "<|end|> x", "<|user|>\n", "<|endoftext|>", "<|im_start|>", "<think>", "<b>", "\u2581", "\u2581\u2581", "``x''",
         "def f(x):\n    return x[1:]  # done\n", "12345678", "\u0661\u0662\u0663", "\u2167", "e\u0301\u0323", "\u1e9b\u0323"]


LONG = {  # what fills long lines
    "one word": "abcdefghij", "one letter": "a", "spaces": " ", "line ends": "\n", "CJK": "\u4e2d\u6587\u5b57\u7b26",
    "marks": "\u0301\u0323\u0489", "letter and marks": "a\u0323\u0301", "joined": "\U0001F469\u200d", "flags": "\U0001F1E9\U0001F1EA",
    "punctuation": "!?.,;:", "digits": "1234567890", "special": " <mask>", "almost special": "<|endoftext|", "broken UTF-8": b"\xff\xe2\x82"}
ROUNDS = 5


def prose():
    """Lines of this project's documents and sources."""
    files = sorted(ROOT.glob("docs/*.md")) + sorted(ROOT.glob("runtime/*/*.cpp")) + [ROOT / "README.md"]
    lines = [line for file in files for line in file.read_text().splitlines() if line.strip()]
    return lines


def make_lines(count):
    rng, known = random.Random(20251122), prose()
    lines = []
    for _ in range(count):
        text = tokenizer_lines.line(rng).decode("utf-8", "replace")
        for _ in range(rng.choice([0, 0, 1, 2, 4])):
            at = rng.randint(0, len(text))
            text = text[:at] + rng.choice(EXTRA) + text[at:]
        if rng.random() < 0.2:
            text += " " + rng.choice(known)
        lines.append(text)
    return lines


def broken_lines(count):
    """Bytes of which most are no UTF-8; `tokenizers` gets them decoded with U+FFFD for what is none."""
    rng, known = random.Random(7), "na\u00efve Stra\u00dfe \u4e2d\u6587 \U0001F469\u200d\U0001F469 don't <s> x\u0301 \ud55c \u2581a ".encode()
    leads = [0x80, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xEF, 0xF0, 0xF4, 0xF5, 0xFE, 0xFF]
    lines = []
    for _ in range(count):
        if rng.random() < 0.5:
            lines.append(bytes(rng.choice([rng.randrange(256), rng.choice(leads), 0x20]) for _ in range(rng.randint(1, 40))))
            continue
        raw = bytearray(known)
        for _ in range(rng.randint(1, 12)):
            at = rng.randrange(len(raw))
            raw[at:at + rng.randint(0, 1)] = bytes([rng.choice(leads)]) if rng.random() < 0.5 else b""
        lines.append(bytes(raw))
    return lines


def long_lines(size):
    """A line of so many bytes of each kind."""
    known = "\n".join(prose()).encode()
    units = {"prose": known} | {kind: x if isinstance(x, bytes) else x.encode() for kind, x in LONG.items()}
    return {kind: (unit * (size // len(unit) + 1))[:size] for kind, unit in units.items()}


def records(items):
    return b"".join(struct.pack("<I", len(item)) + item for item in items)


def run(tool, file, what, items, times=1):
    """The resulting records; seconds of the work and of opening the tokenizer, peak memory in MB."""
    done = subprocess.run([tool, file, what, str(times)], input=records(items), capture_output=True)
    if done.returncode:
        sys.exit(f"FAIL: {what}: {done.stderr.decode()}")
    out, results, at = done.stdout, [], 0
    while at < len(out):
        size = struct.unpack_from("<I", out, at)[0]
        results.append(out[at + 4:at + 4 + size])
        at += 4 + size
    return results, *map(float, done.stderr.split()[-3:])


def report(name, what, expected, found, lines):
    different = [i for i, (a, b) in enumerate(zip(expected, found)) if a != b]
    good = not different and len(expected) == len(found)
    print(f"{'PASS' if good else 'FAIL'}: {name}, {what}: {len(expected)} lines, {len(different)} differ", flush=True)
    for i in different[:3]:
        at = next((k for k, (a, b) in enumerate(zip(expected[i], found[i])) if a != b),
                  min(len(expected[i]), len(found[i])))
        print(f"   line {i}: {str(lines[i])[:200]!r}\n   from {at}: expected {expected[i][at:at + 10]!r}, "
              f"found {found[i][at:at + 10]!r}")
    return good


def pack(ids):
    return struct.pack(f"<{len(ids)}i", *ids)


def unpack(record):
    return array.array("i", record).tolist()


def compare(tool, name, file, lines):
    reference = tokenizers.Tokenizer.from_file(file)
    good = True
    expected = [e.ids for e in reference.encode_batch_fast(lines)]
    found = list(map(unpack, run(tool, file, "encode", [x.encode() for x in lines])[0]))
    good &= report(name, "ids", expected, found, lines)
    for what, raw in [("broken UTF-8", broken_lines(len(lines) // 10)), ("long lines", list(long_lines(4000).values()))]:
        wanted = [e.ids for e in reference.encode_batch_fast([x.decode("utf-8", "replace") for x in raw])]
        good &= report(name, what, wanted, list(map(unpack, run(tool, file, "encode", raw)[0])), raw)
    half = lines[:max(2, len(lines) // 10 // 2 * 2)]
    pairs = [e.ids for e in reference.encode_batch_fast(list(zip(half[::2], half[1::2])))]
    found = list(map(unpack, run(tool, file, "pairs", [x.encode() for x in half])[0]))
    good &= report(name, "pairs", pairs, found, half[::2])
    packed = list(map(pack, expected))
    texts = [x.encode() for x in reference.decode_batch(expected)]
    good &= report(name, "text", texts, run(tool, file, "decode", packed)[0], expected)
    good &= report(name, "text, id by id", texts, run(tool, file, "stream", packed)[0], expected)
    rng, size = random.Random(1), reference.get_vocab_size()
    some = [[rng.randrange(size + 5) for _ in range(rng.randint(1, 12))] for _ in range(len(lines) // 4)]
    texts = [x.encode() for x in reference.decode_batch(some)]
    good &= report(name, "text of any ids", texts, run(tool, file, "decode", list(map(pack, some)))[0], some)
    return good


def seconds(body):
    start = time.perf_counter()
    body()
    return time.perf_counter() - start


def speed(tool, name, file, corpora):
    """Both take turns; a ratio is that of the fastest rounds, then that of the medians."""
    def ratio(theirs, ours):
        return f"{min(theirs) / min(ours):.1f} ({statistics.median(theirs) / statistics.median(ours):.1f})"

    reference, answers, load = tokenizers.Tokenizer.from_file(file), [], ([], [])
    for kind, lines in corpora.items():
        raw, ids = [x.encode() for x in lines], [e.ids for e in reference.encode_batch_fast(lines)]
        packed, there, back = list(map(pack, ids)), ([], []), ([], [])
        for _ in range(ROUNDS):
            load[0].append(seconds(lambda: tokenizers.Tokenizer.from_file(file)))
            there[0].append(seconds(lambda: reference.encode_batch_fast(lines)))
            _, took, opened, _ = run(tool, file, "encode", raw, 2)
            there[1].append(took)
            load[1].append(opened)
            back[0].append(seconds(lambda: reference.decode_batch(ids)))
            back[1].append(run(tool, file, "decode", packed, 2)[1])
        answers.append(f"{kind}: ids {sum(map(len, raw)) / 1e6 / min(there[1]):.1f} MB/s, {ratio(*there)} times "
                       f"tokenizers' speed, text {ratio(*back)} times")
    print(f"{name}: {'; '.join(answers)}; load {min(load[1]) * 1e3:.1f} ms, {ratio(*load)} times", flush=True)


def long(tool, name, file):
    megabytes = [1, 5, 10]
    lines = [long_lines(size * 1000000) for size in megabytes]
    for kind in lines[0]:
        took, peaks = [], []
        for of_size in lines:
            _, second, _, peak = run(tool, file, "encode", [of_size[kind]])
            took.append(second)
            peaks.append(peak)
        times = ", ".join(f"{size} MB {second:.3f} s" for size, second in zip(megabytes, took))
        print(f"{name}, {kind}: {times}: {took[-1] / took[0]:.1f} times; {peaks[-1]:.0f} MB of memory", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--long", action="store_true")
    parser.add_argument("--charsmap")
    options = parser.parse_args()
    lines = make_lines(options.lines)
    known = list(itertools.islice(itertools.cycle(prose()), options.lines))
    corpus = prose() + make_lines(600)
    map_text = pathlib.Path(options.charsmap).read_text().strip() if options.charsmap else None
    good = True
    with tempfile.TemporaryDirectory() as folder:
        for name, content in families(corpus, map_text):
            if options.only not in name:
                continue
            file = str(pathlib.Path(folder) / "tokenizer.json")
            pathlib.Path(file).write_text(json.dumps(content))
            if options.speed:
                speed(options.tool, name, file, {"prose": known, "varied": lines})
            elif options.long:
                long(options.tool, name, file)
            else:
                good &= compare(options.tool, name, file, lines)
    sys.exit(not good)


if __name__ == "__main__":
    main()
