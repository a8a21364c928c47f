#!/usr/bin/env python3
"""Compares `PROGRAM tokenize` with Hugging Face's tokenizers on 12,000 varied lines.

usage: tokenizer_lines.py TOKENIZER PROGRAM [ARGS...]
  TOKENIZER  a folder with tokenizer.json or vocab.txt, or the tokenizer.json
  PROGRAM    a compiled program (or transformer-run MODULE.so)
Every line is made from a fixed seed. Exit code 1 when any line differs.
"""
import json
import pathlib
import random
import subprocess
import sys
import tempfile
import unicodedata

import tokenizers

COUNT = 12000
WORDS = """the quick brown fox jumps over a lazy dog transformers attention is all you need tokenization
embeddings Straße naïve café résumé Ærøskøbing İstanbul ΣΊΣΥΦΟΣ ΟΔΥΣΣΕΎΣ Ωmega ǅungla ﬁnance ﬀ Łódź
don't it's U.S.A. e-mail 3.14159 1,000,000 http://example.com/a?b=c&d=%20 user@host.org C++ #tag $9.99
antidisestablishmentarianism supercalifragilisticexpialidocious unaffable hello world Ⅷ ½ ² ㎏ ™""".split()
SPECIAL = ["[CLS]", "[SEP]", "[MASK]", "[PAD]", "[UNK]", "[unused1]", "[mask]", "[ MASK ]", "[MASK", "MASK]"]
SPACES = [" ", "  ", "\t", "\r", "\u00a0", "\u1680", "\u2002", "\u2003", "\u2009", "\u200a", "\u202f", "\u205f",
          "\u3000", "\u2028", "\u2029", "\u0085", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x1f"]
INVISIBLE = ["\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u180e", "\u200e", "\u200f", "\u202a",
             "\u202e", "\u2066", "\u2069", "\x00", "\x01", "\x07", "\x1b", "\x7f", "\x80", "\x9f", "\ufffd",
             "\ue000", "\U000f0000", "\U0010ffff", "\uffff", "\ufdd0", "\u0378", "\U0001fbff", "\U000e0001"]
BLOCKS = {
    "latin": (0x00A1, 0x024F), "ipa": (0x0250, 0x02AF), "combining": (0x0300, 0x036F),
    "greek": (0x0370, 0x03FF), "cyrillic": (0x0400, 0x052F), "armenian": (0x0530, 0x058F),
    "hebrew": (0x0590, 0x05FF), "arabic": (0x0600, 0x06FF), "syriac": (0x0700, 0x08FF),
    "indic": (0x0900, 0x0DFF), "thai_lao_tibetan": (0x0E00, 0x0FFF), "georgian": (0x10A0, 0x10FF),
    "jamo": (0x1100, 0x11FF), "ethiopic": (0x1200, 0x139F), "cherokee": (0x13A0, 0x13FF),
    "khmer_mongolian": (0x1780, 0x18AF), "extended": (0x1AB0, 0x1AFF), "latin_more": (0x1E00, 0x1EFF),
    "greek_more": (0x1F00, 0x1FFF), "punctuation": (0x2000, 0x206F), "symbols": (0x2070, 0x27BF),
    "math_arrows": (0x27C0, 0x2BFF), "glagolitic": (0x2C00, 0x2DFF), "supplemental": (0x2E00, 0x2E7F),
    "cjk_symbols": (0x3000, 0x303F), "kana": (0x3040, 0x31FF), "cjk_squared": (0x3200, 0x33FF),
    "cjk_a": (0x3400, 0x4DBF), "cjk": (0x4E00, 0x9FFF), "yi_lisu": (0xA000, 0xA4FF),
    "latin_d": (0xA640, 0xA7FF), "south_asian": (0xA800, 0xABFF), "hangul": (0xAC00, 0xD7A3),
    "compatibility": (0xF900, 0xFAFF), "presentation": (0xFB00, 0xFDFF), "half_full": (0xFE00, 0xFFEF),
    "ancient": (0x10000, 0x11FFF), "more": (0x12000, 0x1BFFF), "music_math": (0x1D000, 0x1D7FF),
    "new_scripts": (0x1DF00, 0x1EFFF), "emoji": (0x1F300, 0x1FAFF), "cjk_b": (0x20000, 0x2FA1F),
    "anything": (0x20, 0x10FFFF),
}
EMOJI = ["👩‍👩‍👧‍👦", "🏳️‍🌈", "👍🏽", "🇩🇪", "❤️", "☺︎", "1️⃣", "🤦🏼‍♂️"]


def character(rng, low, high):
    while True:
        c = rng.randint(low, high)
        if not 0xD800 <= c < 0xE000 and c != 10:
            return chr(c)


def word(rng):
    kind = rng.random()
    if kind < 0.30:
        text = rng.choice(WORDS)
        case = rng.random()
        text = text.upper() if case < 0.1 else text.title() if case < 0.2 else text
    elif kind < 0.55:
        low, high = rng.choice(list(BLOCKS.values()))
        text = "".join(character(rng, low, high) for _ in range(rng.randint(1, 8)))
    elif kind < 0.63:
        text = rng.choice(WORDS)
        at = rng.randint(0, len(text))
        marks = "".join(character(rng, *rng.choice([(0x300, 0x36F), (0x1AB0, 0x1AFF), (0x20D0, 0x20F0),
                                                    (0x302A, 0x302F), (0x1D165, 0x1D172)]))
                        for _ in range(rng.randint(1, 4)))
        text = text[:at] + marks + text[at:]
    elif kind < 0.69:
        text = rng.choice(SPECIAL)
    elif kind < 0.75:
        text = rng.choice(WORDS)
        at = rng.randint(0, len(text))
        text = text[:at] + rng.choice(INVISIBLE) + text[at:]
    elif kind < 0.80:
        text = rng.choice(EMOJI)
    elif kind < 0.84:
        text = "".join(rng.choice("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~—–…«»“”¿¡·") for _ in range(rng.randint(1, 5)))
    elif kind < 0.88:
        text = str(rng.randint(-10**9, 10**12)) if rng.random() < 0.5 else f"{rng.random():.6g}"
    elif kind < 0.92:
        text = unicodedata.normalize(rng.choice(["NFC", "NFD", "NFKC", "NFKD"]), rng.choice(WORDS))
    elif kind < 0.94:
        text = rng.choice(["a", "é", "中", "x1", "ab", "\u0301"]) * rng.choice([33, 50, 98, 99, 100, 101, 102, 150, 300])
    else:
        text = "".join(rng.choice("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ") for _ in range(rng.randint(1, 30)))
    return text


def line(rng):
    parts = []
    for _ in range(rng.choice([0, 1, 1, 2, 3, 5, 8, 13, 21])):
        parts.append(word(rng))
        parts.append(" " if rng.random() < 0.7 else "" if rng.random() < 0.4 else rng.choice(SPACES))
    raw = "".join(parts).replace("\n", " ").encode("utf-8")
    if raw and rng.random() < 0.05:
        raw = bytearray(raw)
        for _ in range(rng.randint(1, 4)):
            raw.insert(rng.randint(0, len(raw)), rng.choice([0x80, 0xBF, 0xC0, 0xC3, 0xE2, 0xED, 0xF0, 0xF4, 0xFF, 0xFE]))
        raw = bytes(raw)
    return raw.rstrip(b"\r")  # a file's line end may be \r\n


def find_json(path):
    path = pathlib.Path(path)
    return path / "tokenizer.json" if path.is_dir() and (path / "tokenizer.json").exists() else path


def reference(path):
    if find_json(path).suffix == ".json":
        tokenizer = tokenizers.Tokenizer.from_file(str(find_json(path)))
    else:
        from transformers import BertTokenizer
        folder = path if pathlib.Path(path).is_dir() else str(pathlib.Path(path).parent)
        tokenizer = BertTokenizer.from_pretrained(folder)._tokenizer
    tokenizer.no_padding()
    return tokenizer


def variants(path, folder):
    """The tokenizer as it is, and with every kind of normaliser and odd added tokens."""
    yield "as it is", path
    if find_json(path).suffix != ".json":
        return
    base = json.loads(find_json(path).read_text())
    base["truncation"] = None
    flags = ("clean_text", "handle_chinese_chars", "strip_accents", "lowercase")
    for bits in range(16):
        values = [bool(bits >> i & 1) for i in range(4)]
        base["normalizer"].update(zip(flags, values))
        if bits == 15:
            base["added_tokens"] += [
                dict(id=40000 + i, content=content, special=special, normalized=normalized, single_word=word,
                     lstrip=left, rstrip=right)
                for i, (content, special, normalized, word, left, right) in enumerate([
                    ("don't", False, True, False, False, False), ("Naïve", False, True, False, True, True),
                    ("the", False, False, True, False, False), ("<br>", True, False, False, True, True),
                    ("ab", False, False, False, False, True), ("abab", False, False, False, True, False)])]
        file = pathlib.Path(folder) / f"variant{bits}.json"
        file.write_text(json.dumps(base))
        yield ", ".join(f for f, v in zip(flags, values) if v) or "nothing", str(file)


def compare(name, path, program, lines, file):
    expected = [e.ids for e in reference(path).encode_batch([x.decode("utf-8", "replace") for x in lines])]
    out = subprocess.run([*program, "tokenize", "--tokenizer", path, "--file", file],
                         check=True, stdout=subprocess.PIPE).stdout.decode()
    found = [list(map(int, x.split())) for x in out.splitlines()]
    if len(found) != len(expected):
        sys.exit(f"{len(found)} lines of ids for {len(expected)} lines of text")
    different = [i for i, pair in enumerate(zip(expected, found)) if pair[0] != pair[1]]
    print(f"{name}: {len(lines)} lines, {sum(map(len, expected))} ids, {len(different)} lines differ")
    for i in different[:5]:
        at = next((k for k, (a, b) in enumerate(zip(expected[i], found[i])) if a != b), 0)
        print(f"line {i}: {lines[i][:300]!r}\n  from id {at}: expected {expected[i][at:at + 12]}, "
              f"found {found[i][at:at + 12]}")
    return len(different)


def main():
    rng = random.Random(20240607)
    lines = [line(rng) for _ in range(COUNT)]
    # Every assigned or unassigned character of the planes in use once, 64 to a line.
    points = [c for c in range(0x20, 0x20000) if not 0xD800 <= c < 0xE000] + list(range(0xE0000, 0xE0200))
    lines += [" ".join(map(chr, points[i:i + 64])).encode() for i in range(0, len(points), 64)]
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder) / "lines.txt"
        file.write_bytes(b"".join(x + b"\n" for x in lines))
        different = sum([compare(name, path, sys.argv[2:], lines, str(file))
                         for name, path in variants(sys.argv[1], folder)])
    sys.exit(bool(different))


if __name__ == "__main__":
    main()
