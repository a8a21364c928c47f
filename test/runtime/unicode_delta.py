#!/usr/bin/env python3
"""Writes runtime/text/UnicodeDelta.inc: where utf8proc and Hugging Face `tokenizers` differ.

`tokenizers` mixes several Unicode versions: categories come from a crate of Unicode 8's time,
decompositions from another, lower case and white space from Rust's standard library. utf8proc has
one version. This program asks the installed `tokenizers` about every code point, compares with
utf8proc, and writes the differences as tables, so that the runtime agrees on all of them.

usage: unicode_delta.py [OUT.inc]   (needs tokenizers and libutf8proc.so)
"""
import ctypes
import ctypes.util
import pathlib
import sys

import tokenizers
from tokenizers import normalizers, pre_tokenizers

utf8proc = ctypes.CDLL(ctypes.util.find_library("utf8proc") or "libutf8proc.so.2")
utf8proc.utf8proc_version.restype = ctypes.c_char_p
utf8proc.utf8proc_unicode_version.restype = ctypes.c_char_p
utf8proc.utf8proc_decompose_char.restype = ctypes.c_ssize_t
utf8proc.utf8proc_get_property.restype = ctypes.POINTER(ctypes.c_int16)
LU, LL, LT, LM, LO, MN, MC, ME = 1, 2, 3, 4, 5, 6, 7, 8
ND, NL, NO, PC, PD, PS, PE, PI, PF, PO = 9, 10, 11, 12, 13, 14, 15, 16, 17, 18
SM, SC, SK, SO, ZS, ZL, ZP, CC, CF, CS, CO = 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29
DECOMPOSE, STABLE = 1 << 4, 1 << 1


def bert(**on):
    flags = dict(clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False)
    return normalizers.BertNormalizer(**{**flags, **on})


CLEAN, STRIP, LOWER, CHINESE = (
    bert(clean_text=True), bert(strip_accents=True), bert(lowercase=True),
    bert(handle_chinese_chars=True))
NFD, PRE = normalizers.NFD(), pre_tokenizers.BertPreTokenizer()
# One mark of each combining class, to find the class of another by the order they end up in.
MARKS = {}
for point in range(0x300, 0x1E900):
    known = utf8proc.utf8proc_get_property(point)[1]
    pair = ("a\u0301" + chr(point), "a" + chr(point) + "\u0334")
    if known and any(NFD.normalize_str(text) != text for text in pair):
        MARKS.setdefault(known, chr(point))


def category(c):
    return utf8proc.utf8proc_category(c)


def theirs(c):
    """(removed, space, punctuation, mark, chinese, lower, decomposition) by tokenizers."""
    s = chr(c)
    clean = CLEAN.normalize_str("a" + s + "b")[1:-1]
    pieces = len(PRE.pre_tokenize_str("a" + s + "b"))
    return dict(removed=clean == "", space=clean == " " if clean else pieces == 2,
                punctuation=pieces == 3, mark=STRIP.normalize_str(s) == "",
                chinese=CHINESE.normalize_str(s) != s, lower=LOWER.normalize_str(s),
                nfd=NFD.normalize_str(s))


WHITE = {9, 10, 11, 12, 13, 0x85}


def ours(c):
    """The same, as runtime/text/Unicode.cpp computes it from utf8proc."""
    k = category(c)
    buffer, last = (ctypes.c_int32 * 8)(), ctypes.c_int(0)
    n = utf8proc.utf8proc_decompose_char(c, buffer, 8, DECOMPOSE | STABLE, ctypes.byref(last))
    white = c in WHITE or k in (ZS, ZL, ZP)
    return dict(removed=c not in (9, 10, 13) and (c in (0, 0xFFFD) or k in (CC, CF, CO)),
                space=white,
                punctuation=PC <= k <= PO or (c < 128 and k in (SM, SC, SK, SO)), mark=k == MN,
                chinese=any(a <= c <= b for a, b in (
                    (0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x20000, 0x2A6DF), (0x2A700, 0x2B73F),
                    (0x2B740, 0x2B81F), (0x2B920, 0x2CEAF), (0xF900, 0xFAFF),
                    (0x2F800, 0x2FA1F))),
                lower=chr(utf8proc.utf8proc_tolower(c)), nfd="".join(map(chr, buffer[:n])))


def combining_class(c):
    """The class by tokenizers: 0, or found by the order among marks of known classes."""
    s = chr(c)
    stays = lambda text: NFD.normalize_str(text) == text  # noqa: E731
    if all(stays("a" + m + s) and stays("a" + s + m) for m in MARKS.values()):
        return 0
    return next(k for k, m in MARKS.items() if stays("a" + m + s) and stays("a" + s + m))


def ranges(points):
    out = []
    for p in points:
        if out and out[-1][1] == p - 1:
            out[-1][1] = p
        else:
            out.append([p, p])
    return out


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else
                       pathlib.Path(__file__).resolve().parents[2] / "runtime/text/UnicodeDelta.inc")
    differ = {k: [] for k in ("removed", "space", "punctuation", "mark", "chinese")}
    lower, nfd, classes = [], [], []
    for c in range(0x110000):
        if 0xD800 <= c < 0xE000:
            continue
        a, b = theirs(c), ours(c)
        for k in differ:
            if a[k] != b[k]:
                differ[k].append(c)
        if a["lower"] != b["lower"]:
            lower.append((c, a["lower"]))
        if a["nfd"] != b["nfd"]:
            nfd.append((c, a["nfd"]))
        known = utf8proc.utf8proc_get_property(c)[1]
        if a["nfd"] == chr(c) and (known or category(c) in (MN, MC, ME, 0)):
            k = combining_class(c)
            if k != known:
                classes.append((c, k))
    lines = ["// Generated by test/runtime/unicode_delta.py: do not edit.",
             f"// tokenizers {tokenizers.__version__} against utf8proc "
             f"{utf8proc.utf8proc_version().decode()}"
             f" (Unicode {utf8proc.utf8proc_unicode_version().decode()}).", ""]
    for k, points in differ.items():
        r = ranges(points)
        lines.append(f"// {len(points)} code points where \"{k}\" is the other way round.")
        lines.append(f"constexpr Range {k}Delta[] = {{")
        row = "   "
        for a, b in r or [[0x7FFFFFFF, 0x7FFFFFFF]]:
            item = f" {{0x{a:X}, 0x{b:X}}},"
            if len(row) + len(item) > 98:
                lines.append(row)
                row = "   "
            row += item
        lines += [row, "};", ""]
    for name, table in (("lower", lower), ("decomposition", nfd)):
        lines.append(f"// {len(table)} code points whose {name} differs (up to 4 code points).")
        lines.append(f"constexpr Mapping {name}Delta[] = {{")
        for c, text in table or [(0x7FFFFFFF, "")]:
            assert len(text) <= 4, (hex(c), text)
            lines.append(f"    {{0x{c:X}, {{{', '.join(hex(ord(t)) for t in text)}}}}},")
        lines += ["};", ""]
    lines.append(f"// {len(classes)} code points whose canonical combining class differs.")
    lines.append("constexpr ClassRange classDelta[] = {")
    runs = []
    for c, k in classes or [(0x7FFFFFFF, 0)]:
        if runs and runs[-1][1] == c - 1 and runs[-1][2] == k:
            runs[-1][1] = c
        else:
            runs.append([c, c, k])
    lines += [f"    {{0x{a:X}, 0x{b:X}, {k}}}," for a, b, k in runs] + ["};", ""]
    out.write_text("\n".join(lines))
    print({k: (len(v), len(ranges(v))) for k, v in differ.items()}, len(lower), len(nfd),
          len(classes), len(runs))


if __name__ == "__main__":
    main()
