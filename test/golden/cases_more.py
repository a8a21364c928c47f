"""The golden cases of DeBERTa, ViT and Whisper."""

from case import ALL_SETS, POOLED_LENGTHS, Case


def deberta(width: int, heads: int, **more: object) -> dict:
    return {
        "vocab_size": 51,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": 2 * width + 3,
        "max_position_embeddings": 14,
    } | more


def vit(width: int, heads: int, image: object, patch: object, **more: object) -> dict:
    return {
        "hidden_size": width,
        "num_attention_heads": heads,
        "num_hidden_layers": 2,
        "intermediate_size": 2 * width + 3,
        "image_size": image,
        "patch_size": patch,
    } | more


def whisper(d_model: int, heads: int, **more: object) -> dict:
    sizes = {"vocab_size": 31, "d_model": d_model, "num_mel_bins": 5, "max_source_positions": 7, "max_target_positions": 14}
    for side, width in (("encoder", 2 * d_model + 1), ("decoder", 2 * d_model - 3)):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": heads, f"{side}_ffn_dim": width}
    tokens = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1, "begin_suppress_tokens": None}
    return sizes | tokens | more


DEBERTA_CASES = [
    Case(  # as version 3
        "deberta-model",
        "DebertaV2Model",
        deberta(
            20,
            4,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            share_att_key=True,
            norm_rel_ebd="layer_norm",
            position_buckets=4,
            position_biased_input=False,
        ),
        inputs=("inputs", "inputs_left", "inputs_bare"),
    ),
    Case(
        "deberta-masked-lm",
        "DebertaV2ForMaskedLM",
        deberta(18, 3, relative_attention=True, pos_att_type=["c2p", "p2c"], max_relative_positions=4, type_vocab_size=3),
        inputs=("inputs", "inputs_left", "inputs_positions"),
    ),
    Case(
        "deberta-masked-lm-new-head",
        "DebertaV2ForMaskedLM",
        deberta(16, 2, legacy=False, relative_attention=True, pos_att_type=["c2p"]),
        config_form="4",
    ),
    Case("deberta-plain", "DebertaV2Model", deberta(15, 3, embedding_size=10, layer_norm_eps=1e-5), inputs=ALL_SETS, config_form="short"),
    Case(
        "deberta-conv",
        "DebertaV2ForSequenceClassification",
        deberta(
            16,
            4,
            relative_attention=True,
            pos_att_type="p2c",
            share_att_key=True,
            conv_kernel_size=3,
            conv_act="gelu",
            pooler_hidden_act="tanh",
            num_labels=5,
        ),
        inputs=("inputs", "inputs_left"),
        lengths=POOLED_LENGTHS,
        config_form="short",
    ),
    Case(
        "deberta-token-classification",
        "DebertaV2ForTokenClassification",
        deberta(12, 2, relative_attention=False, pos_att_type=["c2p", "p2c"], num_labels=7),
    ),
    Case(
        "deberta-question-answering",
        "DebertaV2ForQuestionAnswering",
        deberta(
            24,
            2,
            num_hidden_layers=1,
            relative_attention=True,
            pos_att_type=["p2c", "c2p"],
            norm_rel_ebd="layer_norm",
            position_buckets=16,
            max_position_embeddings=160,
        ),
        lengths=(33, 67, 16),
    ),
]

VIT_CASES = [
    Case(
        "vit-model",
        "ViTModel",
        vit(20, 4, [12, 8], 4),
        inputs=("inputs", "inputs_left", "inputs_holes", "inputs_bare"),
        lengths=(7, 5, 1, 7, 3),
    ),
    Case("vit-grey", "ViTForImageClassification", vit(18, 3, 9, 3, num_channels=1, qkv_bias=False, num_labels=6), "4", lengths=(10,) * 6),
    Case(
        "vit-pooler",
        "ViTModel",
        vit(16, 2, [13, 9], [4, 2], num_channels=2, hidden_act="gelu_new", pooler_output_size=11, pooler_act="gelu"),
        config_form="short",
        lengths=(13, 2, 8, 13, 11, 5),
    ),
]

WHISPER_CASES = [
    Case("whisper-lm", "WhisperForConditionalGeneration", whisper(16, 4), inputs=ALL_SETS[:4]),
    Case("whisper-model", "WhisperModel", whisper(18, 3, decoder_layers=3, activation_function="relu"), config_form="4"),
    Case(
        "whisper-untied",
        "WhisperForConditionalGeneration",
        whisper(12, 1, tie_word_embeddings=False, num_mel_bins=80, max_source_positions=40),
        config_form="short",
    ),
]

MORE_CASES = DEBERTA_CASES + VIT_CASES + WHISPER_CASES
