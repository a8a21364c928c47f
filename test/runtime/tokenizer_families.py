"""Tokenizers of the families' kinds: small models, trained with Hugging Face's tokenizers, in the
combinations of components that the families' files have."""
import base64
import json
import struct
import unicodedata

from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

GPT2 = r"'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+"
LLAMA3 = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
          r"|\s*[\r\n]+|\s+(?!\S)|\s+")
QWEN2 = LLAMA3.replace("{1,3}", "")
GPT4O = (r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?"
         r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+")
BLOOM = " ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"
MARK = "\u2581"


def charsmap():
    """A precompiled_charsmap of what NFKC does to characters below U+3100 and presentation forms."""
    rules = {chr(c): "" for c in [*range(1, 9), 0xB, *range(0xE, 0x20), 0x7F, 0x200B, 0x200E, 0xFEFF]}
    rules |= {c: " " for c in "\t\n\f\r\u00a0\u1680\u2028\u2029\u2581\u3000"}
    for c in [*range(0xA0, 0x3100), *range(0xFB00, 0xFB50), *range(0xFF00, 0xFFEF)]:
        text = unicodedata.normalize("NFKC", chr(c))
        if text != chr(c):
            rules.setdefault(chr(c), text)
        parts = unicodedata.normalize("NFD", chr(c))
        if len(parts) == 2 and unicodedata.normalize("NFC", parts) == chr(c):
            rules.setdefault(parts, chr(c))
    texts, trie = b"", [({}, None)]
    for key in sorted(rules):
        node = 0
        for byte in key.encode():
            if byte not in trie[node][0]:
                trie[node][0][byte] = len(trie)
                trie.append(({}, None))
            node = trie[node][0][byte]
        trie[node] = (trie[node][0], len(texts))
        texts += rules[key].encode() + b"\0"
    units, used, place = {}, set(), {0: 1}
    used.add(1)
    start = 2
    for node, (children, value) in enumerate(trie):  # parents come first
        base = place[node]
        if value is not None:
            units[base] = value
        for byte, child in children.items():
            at = base ^ byte
            wanted = [0, *trie[child][0]]
            while start in used or start in units:
                start += 1
            to = start
            while (at ^ to) >= 1 << 21 or to in used or any(to ^ w in units or to ^ w in used for w in wanted):
                to += 1
            place[child] = to
            used.update(to ^ w for w in wanted)
            units[at] = (at ^ to) << 10 | (256 if trie[child][1] is not None else 0) | byte
        if node == 0:
            units[0] = 1 << 10
    blob = struct.pack(f"<{max(units) + 257}I", *(units.get(i, 0) for i in range(max(units) + 257)))
    return base64.b64encode(struct.pack("<I", len(blob)) + blob + texts).decode()


def train(corpus):
    """The models as JSON: bytes (BPE), pieces (BPE of SentencePiece's kind), words (BPE with </w>),
    unigram, wordpiece."""
    def trained(model, trainer, normalizer=None, pre_tokenizer=None):
        tokenizer = Tokenizer(model)
        if normalizer:
            tokenizer.normalizer = normalizer
        tokenizer.pre_tokenizer = pre_tokenizer
        tokenizer.train_from_iterator(corpus, trainer)
        return json.loads(tokenizer.to_str())["model"]

    def bpe(special, **options):
        return trainers.BpeTrainer(vocab_size=3000, special_tokens=special, show_progress=False, **options)

    alphabet = pre_tokenizers.ByteLevel.alphabet()
    special = ["<unk>", "<s>", "</s>", "<pad>"]
    fallback = [f"<0x{byte:02X}>" for byte in range(256)]
    made = {
        "bytes": trained(models.BPE(), bpe([], initial_alphabet=alphabet),
                         pre_tokenizer=pre_tokenizers.ByteLevel(add_prefix_space=False)),
        "pieces": trained(models.BPE(unk_token="<unk>", byte_fallback=True, fuse_unk=True),
                          bpe(special + fallback, limit_alphabet=300), pre_tokenizer=pre_tokenizers.Metaspace()),
        "words": trained(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"),
                         bpe(special, end_of_word_suffix="</w>", limit_alphabet=200),
                         normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()),
        "unigram": trained(models.Unigram(), trainers.UnigramTrainer(
            vocab_size=8000, special_tokens=special, unk_token="<unk>", show_progress=False),
            pre_tokenizer=pre_tokenizers.Metaspace()),
        "wordpiece": trained(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
            vocab_size=3000, special_tokens=["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"], show_progress=False),
            normalizers.BertNormalizer(), pre_tokenizers.BertPreTokenizer()),
    }
    decoders.ByteLevel()  # the module is imported for what tokenizers registers
    return made


def added(*contents, special=True, **options):
    return [dict(id=9000 + i, content=content, special=special, single_word=False, lstrip=False, rstrip=False,
                 normalized=not special) | options for i, content in enumerate(contents)]


def template(before, after, pair_type=0):
    def piece(token, kind=0):
        return {"SpecialToken": {"id": token, "type_id": kind}}
    single = [*map(piece, before), {"Sequence": {"id": "A", "type_id": 0}}, *map(piece, after)]
    pair = single + [{"Sequence": {"id": "B", "type_id": pair_type}}, *(piece(t, pair_type) for t in after)]
    tokens = {t: {"id": t, "ids": [i + 1], "tokens": [t]} for i, t in enumerate({*before, *after})}
    return {"type": "TemplateProcessing", "single": single, "pair": pair, "special_tokens": tokens}


def sequence(kind, *items):
    return {"type": "Sequence", kind: list(items)}


def split(pattern, behavior="Isolated", invert=False, kind="Regex"):
    return {"type": "Split", "pattern": {kind: pattern}, "behavior": behavior, "invert": invert}


def replace(pattern, content, kind="String"):
    return {"type": "Replace", "pattern": {kind: pattern}, "content": content}


def byte_level(prefix=False, regex=True):
    return {"type": "ByteLevel", "add_prefix_space": prefix, "trim_offsets": True, "use_regex": regex}


def metaspace(scheme="always", split_words=True):
    return {"type": "Metaspace", "replacement": MARK, "prepend_scheme": scheme, "split": split_words}


def families(corpus, map_text=None):
    """Pairs of a name and a tokenizer.json."""
    model = train(corpus)
    precompiled = {"type": "Precompiled", "precompiled_charsmap": map_text or charsmap()}
    white = {"type": "WhitespaceSplit"}
    spaces = added(*(" " * n for n in range(24, 1, -1)), special=False, normalized=True)
    llama2 = sequence("normalizers", {"type": "Prepend", "prepend": MARK}, replace(" ", MARK))
    llama_decoder = sequence("decoders", replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"},
                             {"type": "Strip", "content": " ", "start": 1, "stop": 0})
    gemma_decoder = sequence("decoders", replace(MARK, " "), {"type": "ByteFallback"}, {"type": "Fuse"})
    s_tokens = added("<unk>", "<s>", "</s>")
    mask = added("<mask>", lstrip=True)
    chat = added("<|system|>", "<|user|>", "<|end|>", rstrip=True)
    bert = {"type": "BertNormalizer", "clean_text": True, "handle_chinese_chars": True, "strip_accents": None,
            "lowercase": True}
    wordpiece_decoder = {"type": "WordPiece", "prefix": "##", "cleanup": True}
    cls_sep = {"cls": ["<s>", 1], "sep": ["</s>", 2]}

    def family(name, kind, normalizer=None, pre=None, post=None, decoder=None, tokens=(), options=None, **top):
        return name, {"version": "1.0", "truncation": None, "padding": None, "added_tokens": list(tokens),
                      "normalizer": normalizer, "pre_tokenizer": pre, "post_processor": post, "decoder": decoder,
                      "model": model[kind] | (options or {})} | top

    end = added("<|endoftext|>")
    cut = {"max_length": 7, "strategy": "LongestFirst", "stride": 0, "direction": "Left"}
    form = {"type": "NFC"}
    after_space = sequence("pretokenizers", white, metaspace())
    return [
        family("bert", "wordpiece", bert, {"type": "BertPreTokenizer"}, template(["[CLS]"], ["[SEP]"], 1),
               wordpiece_decoder, added("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")),
        family("electra, cased", "wordpiece", bert | {"lowercase": False}, {"type": "BertPreTokenizer"},
               {"type": "BertProcessing", "cls": ["[CLS]", 2], "sep": ["[SEP]", 3]}, wordpiece_decoder),
        family("wordpiece, other words", "wordpiece", sequence("normalizers", {"type": "NFKC"}, {"type": "Lowercase"}),
               sequence("pretokenizers", {"type": "Whitespace"}, {"type": "Digits", "individual_digits": False}),
               None, wordpiece_decoder | {"cleanup": False}),
        family("gpt2", "bytes", None, byte_level(), byte_level(), byte_level(), end),
        family("roberta, bart", "bytes", None, byte_level(), {"type": "RobertaProcessing", "trim_offsets": True,
               "add_prefix_space": False} | cls_sep, byte_level(), added("<s>", "</s>") + mask),
        family("opt", "bytes", None, byte_level(True), template(["</s>"], []), byte_level(), added("</s>")),
        family("gpt-neox", "bytes", form, byte_level(), template([], []), byte_level(), end + spaces),
        family("bloom", "bytes", None, sequence("pretokenizers", split(BLOOM), byte_level(regex=False)), byte_level(),
               byte_level(), added("<s>")),
        family("llama3", "bytes", None, sequence("pretokenizers", split(LLAMA3), byte_level(regex=False)),
               sequence("processors", byte_level(), template(["<s>"], [])), byte_level(),
               added("<|begin_of_text|>", "<|eot_id|>"), {"ignore_merges": True}),
        family("llama3, cut", "bytes", None, sequence("pretokenizers", split(LLAMA3, "Removed", True), byte_level(regex=False)),
               template(["<s>"], []), byte_level(), (), {}, truncation=cut),
        family("qwen2, qwen3", "bytes", form, sequence("pretokenizers", split(QWEN2), byte_level(regex=False)),
               byte_level(), byte_level(), added("<|im_start|>", "<|im_end|>") + added("<think>", special=False, normalized=False)),
        family("gpt-oss", "bytes", None, sequence("pretokenizers", split(GPT4O), byte_level(regex=False)), None,
               byte_level(), end),
        family("falcon", "bytes", None, sequence("pretokenizers", {"type": "Punctuation", "behavior": "Contiguous"},
               byte_level(), {"type": "Digits", "individual_digits": False}, split("[0-9][0-9][0-9]")), None, byte_level(), end),
        family("starcoder", "bytes", None, sequence("pretokenizers", {"type": "Digits", "individual_digits": True},
               byte_level()), None, byte_level(), end),
        family("llama2", "pieces", llama2, None, template(["<s>"], []), llama_decoder, s_tokens),
        family("llama2, no fallback", "pieces", llama2, None, template(["<s>"], []), llama_decoder, s_tokens,
               {"byte_fallback": False}),
        family("mistral", "pieces", None, metaspace("first", False), template(["<s>"], []), llama_decoder, s_tokens),
        family("phi3", "pieces", llama2, None, None, llama_decoder, s_tokens + chat),
        family("gemma", "pieces", replace(" ", MARK), split(" ", "MergedWithPrevious", kind="String"),
               template(["<bos>"], []), gemma_decoder, added("<pad>", "<bos>") + added("\n\n", "<b>", MARK * 2, special=False, normalized=False)),
        family("gpt", "words", bert, {"type": "BertPreTokenizer"}, None, {"type": "BPEDecoder", "suffix": "</w>"}),
        family("t5", "unigram", precompiled, after_space, template([], ["</s>"]), metaspace(), added("<pad>", "</s>", "<unk>", "<extra_id_0>")),
        family("albert", "unigram", sequence("normalizers", replace("``", "\""), replace("''", "\""), {"type": "NFKD"},
               {"type": "StripAccents"}, {"type": "Lowercase"}, precompiled, replace(" {2,}", " ", "Regex")),
               metaspace(), template(["<s>"], ["</s>"], 1), metaspace(), s_tokens + mask),
        family("xlm-r", "unigram", precompiled, after_space, {"type": "RobertaProcessing", "trim_offsets": True,
               "add_prefix_space": True} | cls_sep, metaspace(), s_tokens + mask),
        family("deberta-v2", "unigram", sequence("normalizers", {"type": "Strip", "strip_left": True, "strip_right": True},
               precompiled, replace(" {2,}", " ", "Regex")), metaspace("first"), template(["<s>"], ["</s>"]), metaspace("first"), s_tokens),
        family("marian", "unigram", sequence("normalizers", precompiled, {"type": "Nmt"}), metaspace(), template([], ["</s>"]), metaspace(), s_tokens),
    ]
