"""What generation_processors.py compares: settings, histories, prompts."""

import itertools

import numpy as np

BIASES = [[[5], 2.5], [[7], -1.25], [[3, 5], 1.5], [[4, 5], -3.0], [[2, 3, 5], 0.75], [[3, 7], float(-2**20)]]
BAD_WORDS = [[4], [2], [6, 3], [3, 3], [5, 6, 7], [9, 2]]

PROCESSORS = {
    "none": {},
    "repetition_penalty 1.3": {"repetition_penalty": 1.3},
    "repetition_penalty 0.8": {"repetition_penalty": 0.8},
    "encoder_repetition_penalty 1.4": {"encoder_repetition_penalty": 1.4},
    "no_repeat_ngram_size 1": {"no_repeat_ngram_size": 1},
    "no_repeat_ngram_size 2": {"no_repeat_ngram_size": 2},
    "no_repeat_ngram_size 3": {"no_repeat_ngram_size": 3},
    "encoder_no_repeat_ngram_size 1": {"encoder_no_repeat_ngram_size": 1},
    "encoder_no_repeat_ngram_size 2": {"encoder_no_repeat_ngram_size": 2},
    "encoder_no_repeat_ngram_size 3": {"encoder_no_repeat_ngram_size": 3},
    "sequence_bias": {"sequence_bias": BIASES},
    "bad_words_ids": {"bad_words_ids": BAD_WORDS, "eos_token_id": 2},
    "bad_words_ids without eos": {"bad_words_ids": BAD_WORDS},
    "min_length": {"min_length": 8, "eos_token_id": [2, 4]},
    "min_new_tokens": {"min_new_tokens": 3, "eos_token_id": 2},
    "min_new_tokens over min_length": {"min_new_tokens": 2, "min_length": 12, "eos_token_id": 2},
    "forced_bos_token_id": {"forced_bos_token_id": 6},
    "forced_eos_token_id": {"forced_eos_token_id": [2, 5]},
    "remove_invalid_values": {"remove_invalid_values": True, "bad_words_ids": BAD_WORDS},
    "exponential_decay_length_penalty": {"exponential_decay_length_penalty": [2, 1.15], "eos_token_id": [2, 3]},
    "exponential decay of a banned eos": {"exponential_decay_length_penalty": [0, 1.5], "eos_token_id": [2, 3],
                                          "min_new_tokens": 3},
    "suppress_tokens": {"suppress_tokens": [1, 5, 8]},
    "begin_suppress_tokens": {"begin_suppress_tokens": [2, 3]},
    "begin_suppress_tokens after forced bos": {"begin_suppress_tokens": [2, 3], "forced_bos_token_id": 6},
    "renormalize_logits": {"renormalize_logits": True, "suppress_tokens": [1, 5]},
}
# Of the tokens where there are stop strings.
WORDS = ["<0>", "<1>", "<2>", "a", "b", "c", "d", "e", "f", "s", "t", "o", "p", "st", "op", "sto", "pp", "top", "stop",
         "opp", "ab", "bca", "xstopx", "ta"]
OFF = {"do_sample": True, "top_k": 0}
WARPERS = {
    "temperature 0.7": {"temperature": 0.7},
    "temperature 1.9": {"temperature": 1.9},
    "top_k 1": {"top_k": 1},
    "top_k 5": {"top_k": 5},
    "top_k default": {"top_k": None},
    "top_k 2000": {"top_k": 2000},
    "top_p 0.1": {"top_p": 0.1},
    "top_p 0.5": {"top_p": 0.5},
    "top_p 0.9": {"top_p": 0.9},
    "top_p 0.99": {"top_p": 0.99},
    "top_p 0": {"top_p": 0.0},
    "top_h 0.3": {"top_h": 0.3},
    "top_h 0.8": {"top_h": 0.8},
    "min_p 0.05": {"min_p": 0.05},
    "min_p 0.4": {"min_p": 0.4},
    "typical_p 0.2": {"typical_p": 0.2},
    "typical_p 0.9": {"typical_p": 0.9},
    "epsilon_cutoff": {"epsilon_cutoff": 0.01},
    "eta_cutoff 0.01": {"eta_cutoff": 0.01},
    "eta_cutoff 0.3": {"eta_cutoff": 0.3},
    "top_k and top_p": {"top_k": 20, "top_p": 0.8},
    "top_k, top_p and temperature": {"top_k": 40, "top_p": 0.95, "temperature": 0.6},
    "min_p and temperature": {"temperature": 1.5, "min_p": 0.1},
    "all": {"temperature": 1.2, "top_h": 0.9, "top_k": 60, "top_p": 0.95, "min_p": 0.01, "typical_p": 0.95,
            "epsilon_cutoff": 0.002, "eta_cutoff": 0.002, "renormalize_logits": True},
}


def score_cases():
    """(name, settings, vocabulary, rows)"""
    for name, settings in PROCESSORS.items():
        yield name, settings, 12, 60
    many = {key: value for settings in PROCESSORS.values() for key, value in settings.items()}
    many.pop("forced_bos_token_id")
    yield "all processors", {**many, "suppress_tokens": [1, 8]}, 12, 200
    for (one, first), (other, second) in itertools.combinations(PROCESSORS.items(), 2):
        both = {**first, **second}
        if {5} & set(both.get("suppress_tokens", [])) and "forced_eos_token_id" in both:
            both["suppress_tokens"] = [1, 8]
        if "exponential_decay_length_penalty" in both or "eos" in one + other:
            both.setdefault("eos_token_id", [2, 3])
        yield f"{one} + {other}", both, 12, 12
    for name, settings in WARPERS.items():
        settings = {key: value for key, value in {**OFF, **settings}.items() if value is not None}
        for vocabulary, count in ((7, 40), (300, 60), (5000, 20)):
            yield f"{name}, of {vocabulary}", settings, vocabulary, count
        yield f"{name}, beams", {**settings, "num_beams": 3, "eos_token_id": [2, 4]}, 300, 40
    for (one, first), (other, second) in itertools.combinations(WARPERS.items(), 2):
        both = {key: value for key, value in {**OFF, **first, **second}.items() if value is not None}
        yield f"{one} + {other}", both, 200, 6
    yield "processors and warpers", {**many, **OFF, **WARPERS["all"], "suppress_tokens": [1, 8]}, 200, 200


def history(rng: np.random.Generator, vocabulary: int) -> dict:
    """Tokens so far, some of them again and again."""
    few = min(vocabulary, 10)
    length = int(rng.integers(1, 14))
    prompt = int(rng.integers(1, length + 1))
    more = int(rng.choice([1, 1, 2, 6]))
    return {"tokens": rng.integers(2, few, length).tolist(), "prompt": prompt, "max": length + more,
            "source": rng.integers(2, few, int(rng.integers(1, 12))).tolist()}


def random_scores(rng: np.random.Generator, count: int, vocabulary: int) -> np.ndarray:
    spread = rng.choice([0.5, 2.0, 6.0], (count, 1))
    return (rng.normal(0, 1, (count, vocabulary)) * spread).astype(np.float32)


def search_cases():
    """(name, settings, options: how prompts are made and what else both sides get)"""
    base = {"eos_token_id": 2, "pad_token_id": 0, "max_new_tokens": 12}
    yield "greedy", base, {}
    yield "greedy, no eos", {"pad_token_id": 0, "max_new_tokens": 9}, {}
    yield "greedy, default length", {"eos_token_id": [2, 3], "pad_token_id": 0}, {"ragged": True}
    greedy = {"repetition_penalty": 1.4, "no_repeat_ngram_size": 2, "min_new_tokens": 5, "bad_words_ids": [[3], [4, 5]],
              "forced_eos_token_id": 2}
    yield "greedy, processors", {**base, **greedy}, {}
    for beams, penalty, early in itertools.product((2, 3, 4, 5), (0.0, 0.6, 1.0, 2.0, -1.0), (False, True, "never")):
        name = f"{beams} beams, length_penalty {penalty:g}, early_stopping {early}"
        settings = {**base, "num_beams": beams, "num_return_sequences": beams, "length_penalty": penalty,
                    "early_stopping": early}
        yield name, settings, {"ragged": beams % 2 == 0, "tables": 3}
    beam = {**base, "num_beams": 4, "num_return_sequences": 3}
    variants = {
        "eos early": {"eos_token_id": [2, 3, 4, 5, 6]},
        "two eos": {"eos_token_id": [2, 7]},
        "no eos": {"eos_token_id": None},
        "pad is eos": {"pad_token_id": 2},
        "max_length": {"max_new_tokens": None, "max_length": 9},
        "one new token": {"max_new_tokens": 1},
        "no_repeat_ngram_size 2": {"no_repeat_ngram_size": 2, "max_new_tokens": 25},
        "no_repeat_ngram_size 1": {"no_repeat_ngram_size": 1},
        "min_length": {"min_length": 9},
        "min_new_tokens": {"min_new_tokens": 6, "eos_token_id": [2, 3, 4]},
        "bad words": {"bad_words_ids": [[4], [2, 3], [5, 6, 7], [8, 8]]},
        "forced eos": {"forced_eos_token_id": 2},
        "forced eos of two": {"forced_eos_token_id": [2, 3]},
        "repetition_penalty": {"repetition_penalty": 1.5},
        "encoder_no_repeat_ngram_size": {"encoder_no_repeat_ngram_size": 2},
        "sequence_bias": {"sequence_bias": [[[5], 2.0], [[5, 6], 1.5], [[2], -3.0]]},
        "suppress": {"suppress_tokens": [3, 4, 5], "begin_suppress_tokens": [2, 6]},
        "renormalize": {"renormalize_logits": True, "suppress_tokens": [3, 4, 5]},
        "exponential decay": {"exponential_decay_length_penalty": [2, 1.4], "max_new_tokens": 20},
        "BART's": {"no_repeat_ngram_size": 3, "min_length": 6, "length_penalty": 2.0, "early_stopping": True,
                   "forced_eos_token_id": 2, "max_new_tokens": 16},
    }
    for name, settings in variants.items():
        merged = {key: value for key, value in {**beam, **settings}.items() if value is not None}
        for early in (False, True, "never"):
            yield f"beams, {name}, early_stopping {early}", {"early_stopping": early, **merged}, {"same": True}
    one = {**beam, "forced_bos_token_id": 6, "forced_eos_token_id": 2}
    yield "beams, forced bos and eos", one, {"length": 1}
    yield "beams, forced bos and eos, flat scores", one, {"length": 1, "spread": 0.3}
    for strings in ("stop", ["stop", "cab", "sta"]):
        stop = {**base, "stop_strings": strings, "max_new_tokens": 40}
        yield f"greedy, stop_strings {strings}", stop, {"words": WORDS, "spread": 1.0}
        yield (f"beams, stop_strings {strings}", {**stop, "num_beams": 3, "num_return_sequences": 3},
               {"words": WORDS, "spread": 1.0})
    for spread in (0.2, 1.0, 5.0):
        yield f"beams, spread {spread:g}", {**beam, "max_new_tokens": 30}, {"spread": spread, "tables": 8}


def prompts(rng: np.random.Generator, batch: int, vocabulary: int, options: dict) -> list[list[int]]:
    """Of different lengths only where transformers' padding changes nothing."""
    lengths = rng.integers(2, 6, batch) if options.get("ragged") else [options.get("length", rng.integers(2, 6))] * batch
    return [rng.integers(3, vocabulary, int(length)).tolist() for length in lengths]


def independent_cases():
    base = {"eos_token_id": 2, "max_new_tokens": 12}
    yield "greedy", base
    yield "sampling", {**base, "do_sample": True, "num_return_sequences": 3, "seed": 5}
    for early in (False, True, "never"):
        yield f"beams, early_stopping {early}", {**base, "num_beams": 4, "num_return_sequences": 4,
                                                 "early_stopping": early}
    yield "beams, max_length", {"eos_token_id": [2, 3], "max_length": 12, "num_beams": 3, "min_length": 8}
    yield "beam sampling", {**base, "do_sample": True, "num_beams": 3, "num_return_sequences": 2}


def config_cases():
    """(name, generation_config.json or None, config.json): as published, as far as generation goes"""
    bart = {"bos_token_id": 0, "decoder_start_token_id": 2, "early_stopping": True, "eos_token_id": 2,
            "forced_bos_token_id": 0, "forced_eos_token_id": 2, "length_penalty": 2.0, "max_length": 142,
            "min_length": 56, "no_repeat_ngram_size": 3, "num_beams": 4, "pad_token_id": 1,
            "output_past": True, "task_specific_params": {"summarization": {"num_beams": 1}}, "vocab_size": 50264}
    marian = {"bad_words_ids": [[58100]], "bos_token_id": 0, "decoder_start_token_id": 58100, "eos_token_id": 0,
              "max_length": 512, "num_beams": 6, "pad_token_id": 58100, "forced_eos_token_id": 0}
    llama = {"bos_token_id": 128000, "do_sample": True, "eos_token_id": [128001, 128008, 128009], "temperature": 0.6,
             "top_p": 0.9, "transformers_version": "4.42.3"}
    whisper = {"begin_suppress_tokens": [220, 50257], "bos_token_id": 50257, "decoder_start_token_id": 50258,
               "eos_token_id": 50257, "forced_decoder_ids": [[1, None], [2, 50359]], "max_length": 448,
               "suppress_tokens": [1, 2, 7], "alignment_heads": [[3, 1]], "lang_to_id": {"<|en|>": 50259}}
    old = {"bos_token_id": 0, "eos_token_id": 2, "force_bos_token_to_be_generated": True, "pad_token_id": None}
    nested = {"decoder": {"bos_token_id": 101, "eos_token_id": 102, "max_length": 33, "top_k": None, "num_beams": 5},
              "decoder_start_token_id": 101, "eos_token_id": 7, "encoder": {"num_beams": 9}}
    yield "facebook/bart-large-cnn's config.json", None, bart
    yield "Marian's config.json", None, marian
    yield "Llama 3.1's", llama, {"eos_token_id": 5, "num_beams": 3}
    yield "Whisper's", whisper, {}
    yield "an old BART's config.json", None, old
    yield "an encoder and decoder's config.json", None, nested
    yield "a text part's config.json", None, {"text_config": {"eos_token_id": [1, 106], "pad_token_id": 0}, "top_p": 0.95}
    yield "none that says anything", {}, bart
    yield "nulls", {"top_k": None, "temperature": None, "eos_token_id": None, "max_length": None}, {}


def draw_cases():
    """(name, settings, vocabulary)"""
    yield "all tokens", {**OFF, "seed": 1}, 50
    yield "another seed", {**OFF, "seed": 2**40 + 17}, 50
    yield "temperature 0.5, top_k 20", {**OFF, "temperature": 0.5, "top_k": 20}, 300
    yield "top_p 0.9", {**OFF, "top_p": 0.9}, 300
    yield "typical_p 0.8", {**OFF, "typical_p": 0.8}, 300
    yield "min_p 0.1 of 2000", {**OFF, "temperature": 1.5, "min_p": 0.1}, 2000
