#!/usr/bin/env python3
"""Compares the runtime's tokenizers with Hugging Face's, type by type: ids, pairs, text of ids.

usage: tokenizer_types.py TOOL [--lines N] [--only NAME] [--speed] [--charsmap FILE]
  TOOL             build/test/runtime/tokenizer_tool
  --lines N        lines of each type (2,000)
  --only NAME      types whose name contains NAME
  --speed          instead of the comparison: times beside tokenizers, both on one thread
  --charsmap FILE  base64 of a precompiled_charsmap, instead of one made here
Every line is made from a fixed seed. A line "PASS: ..." or "FAIL: ..." a check; exit code 1 when any
differs.
"""
import argparse
import array
import json
import os
import pathlib
import random
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


def records(items):
    return b"".join(struct.pack("<I", len(item)) + item for item in items)


def run(tool, file, what, items, times=1):
    """The resulting records, and the seconds."""
    done = subprocess.run([tool, file, what, str(times)], input=records(items), capture_output=True)
    if done.returncode:
        sys.exit(f"FAIL: {what}: {done.stderr.decode()}")
    out, results, at = done.stdout, [], 0
    while at < len(out):
        size = struct.unpack_from("<I", out, at)[0]
        results.append(out[at + 4:at + 4 + size])
        at += 4 + size
    return results, float(done.stderr.split()[-1])


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


def best(times, body):
    seconds = []
    for _ in range(times):
        start = time.perf_counter()
        body()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def speed(tool, name, file, lines):
    reference = tokenizers.Tokenizer.from_file(file)
    theirs = best(3, lambda: reference.encode_batch_fast(lines))
    ours = run(tool, file, "encode", [x.encode() for x in lines], 3)[1]
    ids = [e.ids for e in reference.encode_batch_fast(lines)]
    back = best(3, lambda: reference.decode_batch(ids)), run(tool, file, "decode", list(map(pack, ids)), 3)[1]
    size = sum(len(x.encode()) for x in lines) / 1e6
    print(f"{name}: ids {size / ours:.1f} MB/s, {theirs / ours:.1f} times tokenizers' speed; "
          f"text {back[0] / back[1]:.1f} times", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--only", default="")
    parser.add_argument("--speed", action="store_true")
    parser.add_argument("--charsmap")
    options = parser.parse_args()
    lines = prose() if options.speed else make_lines(options.lines)
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
                speed(options.tool, name, file, (lines * (1 + options.lines // len(lines)))[:options.lines])
            else:
                good &= compare(options.tool, name, file, lines)
    sys.exit(not good)


if __name__ == "__main__":
    main()
