"""CTranslate2's encoder-decoder, greedy or with beams; from made-up tokens so many new ones."""

import json
from pathlib import Path

from peers.ctranslate2 import converted


def converter_of(checkpoint):
    """A converter with a word for each token: it wants a vocabulary, and is asked in words."""
    from ctranslate2.converters import TransformersConverter

    config = json.loads((Path(checkpoint) / "config.json").read_text())
    named = {config["pad_token_id"]: "<pad>", config["eos_token_id"]: "</s>"}
    words = [named.get(i, f"w{i}") for i in range(config["vocab_size"])]

    class Words:
        pad_token, eos_token, unk_token = words[config["pad_token_id"]], words[config["eos_token_id"]], "w3"
        bos_token = words[config.get("bos_token_id") or config["pad_token_id"]]
        unk_token_id = 3
        special_tokens_map: dict = {}

        def get_vocab(self):
            return {word: i for i, word in enumerate(words)}

        def convert_ids_to_tokens(self, i):
            return words[i]

    class Converter(TransformersConverter):
        def load_tokenizer(self, *_, **__):
            return Words()

    return Converter(checkpoint)


def load(setup):
    import ctranslate2
    import numpy

    threads = {"inter_threads": 1, "intra_threads": setup.threads}
    translator = ctranslate2.Translator(converted(setup, converter_of), device="cpu", compute_type="float32", **threads)

    def prepare(inputs):
        rows, length, new, beams = (int(inputs[name]) for name in ("rows", "length", "new_tokens", "beams"))
        sources = [[f"w{(7919 * i + 131 * row) % 30000 + 4}" for i in range(length)] for row in range(rows)]
        lengths = {"max_decoding_length": new, "min_decoding_length": new, "max_batch_size": 0}

        def run():
            results = translator.translate_batch(sources, beam_size=beams, **lengths)
            return numpy.array([one.hypotheses[0] for one in results])

        return run

    return prepare
