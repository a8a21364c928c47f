#!/usr/bin/env python3
"""Compares the runtime's tokenizers of SentencePiece models with transformers' classes: ids, text of
ids. The models are trained here, on this project's documents and on lines of all scripts.

usage: tokenizer_sentencepiece.py TOOL [--lines N] [--only NAME]
  TOOL         build/test/runtime/tokenizer_tool
  --lines N    lines for each class (2,000)
  --only NAME  classes whose name contains NAME
Needs transformers, sentencepiece and protobuf; without them it says so and compares nothing. A line
"PASS: ..." or "FAIL: ..." a check; exit code 1 when any differs.
"""
import argparse
import base64
import io
import json
import os
import pathlib
import random
import re
import sys
import tempfile

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
try:
    import google.protobuf  # noqa: F401
    import sentencepiece
    import transformers
except ImportError as missing:
    sys.exit(print(f"SKIP: tokenizer_sentencepiece: {missing}"))
from tokenizer_types import make_lines, pack, prose, report, run, unpack  # noqa: E402

T5_IDS = dict(pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
ALBERT_IDS = dict(pad_id=0, unk_id=1, bos_id=-1, eos_id=-1, control_symbols=["[CLS]", "[SEP]"],
                  user_defined_symbols=["[MASK]"])
LLAMA = dict(model_type="bpe", byte_fallback=True, normalization_rule_name="identity", remove_extra_whitespaces=False)
EXTRA = ["<extra_id_0>", " <extra_id_1> ", "<user>", "x<user>y", "<pad>", "</s>", "[CLS]", "[MASK]", ">>fra<<",
         ">>fra<< ", ">>xyz<<", ">><<", "<0x41>", "\u2581\u2581x", "  ", "\u3000", "\ufb01\ufb03"]


def train(lines, **options):
    """A model's bytes."""
    model = io.BytesIO()
    options = dict(vocab_size=4000, character_coverage=0.995, max_sentence_length=1 << 20, minloglevel=2) | options
    sentencepiece.SentencePieceTrainer.train(sentence_iterator=iter(lines), model_writer=model, **options)
    return model.getvalue()


def pieces(model):
    processor = sentencepiece.SentencePieceProcessor(model_proto=model)
    return [processor.id_to_piece(i) for i in range(processor.get_piece_size())]


def marian(source, target, **config):
    """The files of a MarianTokenizer; some pieces of the source have no id."""
    rng = random.Random(7)
    known = [p for p in dict.fromkeys(pieces(source) + pieces(target)) if rng.random() < 0.95 and p[0] != "<"]
    rng.shuffle(known)
    known = ["</s>", "<unk>", *known, ">>fra<<", ">>deu<<", "\u4e16\u754c", "<pad>"]
    return {"source.spm": source, "target.spm": target, "vocab.json": {p: i for i, p in enumerate(dict.fromkeys(known))},
            "tokenizer_config.json": config}


def families(lines):
    """Names, classes of transformers, and files."""
    half = lines[::2]
    t5 = train(lines, user_defined_symbols=["<user>"], **T5_IDS)
    llama, other = train(lines, **LLAMA), train(half, vocab_size=3000)
    albert = train(half, **ALBERT_IDS)
    token = dict(lstrip=True, rstrip=False, normalized=False, single_word=False, special=True)
    more = {"4100": dict(content="<more>", **token), "4101": dict(content="Th", **token | dict(special=False, normalized=True))}
    T = transformers
    return [
        ("t5", T.T5Tokenizer, {"spiece.model": t5, "config.json": dict(model_type="t5")}),
        ("t5, three extra ids", T.T5Tokenizer, {"spiece.model": t5, "tokenizer_config.json": dict(
            tokenizer_class="T5TokenizerFast", extra_ids=3,
            additional_special_tokens=[f"<extra_id_{i}>" for i in range(3)])}),
        ("t5, special_tokens_map.json", T.T5Tokenizer, {"spiece.model": t5, "config.json": dict(model_type="mt5"),
         "special_tokens_map.json": dict(eos_token=dict(content="</s>", **token | dict(lstrip=False)), pad_token="<pad>"),
         "added_tokens.json": {"<more>": 4100, "Th": 4101}}),
        ("t5, more tokens", T.T5Tokenizer, {"spiece.model": t5, "tokenizer_config.json": dict(
            tokenizer_class="T5Tokenizer", added_tokens_decoder=more)}),
        ("t5, byte fallback", T.T5Tokenizer, {"spiece.model": train(half, byte_fallback=True, **T5_IDS),
         "tokenizer_config.json": dict(tokenizer_class="T5Tokenizer")}),
        ("t5, no normalisation", T.T5Tokenizer, {"spiece.model": train(
            half, normalization_rule_name="identity", **T5_IDS), "tokenizer_config.json": dict(tokenizer_class="T5Tokenizer")}),
        ("albert", T.AlbertTokenizer, {"spiece.model": albert, "config.json": dict(model_type="albert")}),
        ("albert, cased", T.AlbertTokenizer, {"spiece.model": albert, "tokenizer_config.json": dict(
            tokenizer_class="AlbertTokenizer", do_lower_case=False, keep_accents=True,
            mask_token=dict(content="[MASK]", __type="AddedToken", **token))}),
        ("xlm-roberta", T.XLMRobertaTokenizer, {"sentencepiece.bpe.model": train(half), "config.json": dict(
            model_type="xlm-roberta")}),
        ("llama", T.LlamaTokenizer, {"tokenizer.model": llama, "tokenizer_config.json": dict(
            tokenizer_class="LlamaTokenizer")}),
        ("llama, legacy", T.LlamaTokenizer, {"tokenizer.model": llama, "tokenizer_config.json": dict(
            tokenizer_class="LlamaTokenizer", legacy=True, add_bos_token=True, add_eos_token=True, pad_token="<pad>")}),
        ("llama, no space in front", T.LlamaTokenizer, {"tokenizer.model": llama, "tokenizer_config.json": dict(
            tokenizer_class="LlamaTokenizer", add_prefix_space=False, add_bos_token=True)}),
        ("llama, no fallback", T.LlamaTokenizer, {"tokenizer.model": train(half, **LLAMA | dict(byte_fallback=False)),
         "tokenizer_config.json": dict(tokenizer_class="LlamaTokenizer")}),
        ("marian", T.MarianTokenizer, marian(train(lines), other)),
        ("marian, added tokens", T.MarianTokenizer, marian(other, other, tokenizer_class="MarianTokenizer",
         additional_special_tokens=[">>deu<<", "<more>"])),
        ("marian, spaces", T.MarianTokenizer, marian(train(half, remove_extra_whitespaces=False,
         user_defined_symbols=["<user>", "  ", "The"]), other)),
        ("marian, no dummy prefix", T.MarianTokenizer, marian(train(
            half, add_dummy_prefix=False, split_by_whitespace=False, normalization_rule_name="nfkc_cf"), other)),
    ]


def write(folder, files):
    folder.mkdir()
    for name, content in files.items():
        if isinstance(content, bytes):
            (folder / name).write_bytes(content)
        else:
            (folder / name).write_text(json.dumps(content))


def program_form(files):
    """What transformer-compile puts into a program."""
    return {"files": {name: base64.b64encode(content).decode() if isinstance(content, bytes) else json.dumps(content)
                      for name, content in files.items() if name != "target.spm"}}


def compare(tool, name, kind, folder, files, lines):
    write(folder, files)
    reference = kind.from_pretrained(folder)
    expected = [list(map(int, x)) for x in reference(lines, add_special_tokens=True)["input_ids"]]
    packed, texts = list(map(pack, expected)), [x.encode() for x in lines]
    good = report(name, "ids", expected, list(map(unpack, run(tool, folder, "encode", texts)[0])), lines)
    half = [x for x in lines[:len(lines) // 10] if x]  # an empty second text is none to transformers
    half = half[:len(half) // 2 * 2]
    pairs = [list(reference(a, b)["input_ids"]) for a, b in zip(half[::2], half[1::2])]
    good &= report(name, "pairs", pairs, list(map(unpack, run(tool, folder, "pairs", [x.encode() for x in half])[0])),
                   half[::2])

    def decoded(rows):
        return [reference.decode(x, skip_special_tokens=True, clean_up_tokenization_spaces=False).encode() for x in rows]
    answers = decoded(expected)
    good &= report(name, "text", answers, run(tool, folder, "decode", packed)[0], expected)
    good &= report(name, "text, id by id", answers, run(tool, folder, "stream", packed)[0], expected)
    rng, known = random.Random(1), len(files["vocab.json"]) if "vocab.json" in files else len(reference)
    some = [[rng.randrange(known) for _ in range(rng.randint(1, 12))] for _ in range(len(lines) // 4)]
    good &= report(name, "text of any ids", decoded(some), run(tool, folder, "decode", list(map(pack, some)))[0], some)
    carried = folder / "program.json"
    carried.write_text(json.dumps(program_form(files)))
    found = list(map(unpack, run(tool, carried, "encode", texts)[0]))
    return report(name, "ids, carried by a program", expected, found, lines) and good


def compare_library(tool, folder, files, lines):
    """BPE with SentencePiece's own library. A mark in a text is no space to transformers' class."""
    write(folder, files)
    library = sentencepiece.SentencePieceProcessor(model_proto=files["tokenizer.model"])
    special = re.compile("<unk>|</?s>|<pad>|\u2581|\0")
    lines = [x for x in lines if x and x[0] != " " and not special.search(x)]
    found = list(map(unpack, run(tool, folder, "encode", [x.encode() for x in lines])[0]))
    return report("llama", "ids of SentencePiece's library", library.encode(lines), found, lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("tool")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rng, lines = random.Random(3), make_lines(options.lines)
    for i in range(0, len(lines), 3):
        at = rng.choice([0, rng.randint(0, len(lines[i])), len(lines[i])])
        lines[i] = lines[i][:at] + rng.choice(EXTRA) + lines[i][at:]
    corpus = [x for x in prose() + make_lines(600) if "\0" not in x]
    good = True
    with tempfile.TemporaryDirectory() as scratch:
        for i, (name, kind, files) in enumerate(families(corpus)):
            if options.only in name:
                good &= compare(options.tool, name, kind, pathlib.Path(scratch) / str(i), files, lines)
            if name == "llama" and options.only in name:
                good &= compare_library(options.tool, pathlib.Path(scratch) / "library", files, lines)
    sys.exit(not good)


if __name__ == "__main__":
    main()
