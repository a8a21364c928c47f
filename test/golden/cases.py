"""The golden cases: for each the configuration, how the checkpoint is stored, and its input sets."""

import re
from collections.abc import Callable

import torch
from case import ALL_SETS, POOLED_LENGTHS, Case, Tensors
from cases_more import MORE_CASES

# --- stored forms ------------------------------------------------------------------------------


def renamed(tensors: Tensors, *rules: tuple[str, str]) -> Tensors:
    """Applies regular expressions to the names, in order."""
    result = {}
    for name, tensor in tensors.items():
        for pattern, replacement in rules:
            name = re.sub(pattern, replacement, name)
        result[name] = tensor
    return result


def bert_legacy(tensors: Tensors) -> Tensors:
    """As bert-base-uncased: prefixed, gamma and beta, heads and a buffer that the base model does not use."""
    tensors = renamed(tensors, (r"LayerNorm\.weight$", "LayerNorm.gamma"), (r"LayerNorm\.bias$", "LayerNorm.beta"))
    tensors = {f"bert.{name}": tensor for name, tensor in tensors.items()}
    width = tensors["bert.pooler.dense.bias"].shape[0]
    tensors["bert.embeddings.position_ids"] = torch.arange(14)[None]
    tensors["cls.seq_relationship.weight"] = torch.full((2, width), 0.5)
    tensors["cls.seq_relationship.bias"] = torch.zeros(2)
    return tensors


def bert_gamma_beta_head(tensors: Tensors) -> Tensors:
    """As the masked-LM checkpoints of 2019: gamma and beta in the encoder and in the head."""
    return renamed(tensors, (r"LayerNorm\.weight$", "LayerNorm.gamma"), (r"LayerNorm\.bias$", "LayerNorm.beta"))


def gpt2_buffers(tensors: Tensors, prefix: str) -> Tensors:
    """Adds the causal masks that old GPT-2 checkpoints hold."""
    result = dict(tensors)
    for layer in range(2):
        result[f"{prefix}h.{layer}.attn.bias"] = torch.ones(14, 14).tril()[None, None]
        result[f"{prefix}h.{layer}.attn.masked_bias"] = torch.tensor(-1e4)
    return result


def gpt2_prefixed(tensors: Tensors) -> Tensors:
    return gpt2_buffers({f"transformer.{name}": tensor for name, tensor in tensors.items()}, "transformer.")


def gpt2_unprefixed(tensors: Tensors) -> Tensors:
    """As the `gpt2` checkpoint: a GPT2LMHeadModel whose file holds the base model's names."""
    return gpt2_buffers(renamed(tensors, (r"^transformer\.", "")), "")


def without_prefix(prefix: str) -> Callable[[Tensors], Tensors]:
    return lambda tensors: renamed(tensors, (rf"^{prefix}\.", ""))


def weight_and_bias(tensors: Tensors) -> Tensors:
    return renamed(tensors, (r"\.gamma$", ".weight"), (r"\.beta$", ".bias"))


def with_position_table(tensors: Tensors) -> Tensors:
    width = tensors["embedding.token.weight"].shape[1]
    return tensors | {"embedding.position.pe": torch.full((1, 4, width), 7.0)}


# --- configurations ----------------------------------------------------------------------------


def embed_out(tensors: Tensors) -> Tensors:
    return renamed(tensors, (r"^lm_head\.", "embed_out."))


def own_head(tensors: Tensors) -> Tensors:
    """As T5 1.1's, whose classes tie it when they make a new model."""
    return tensors | {"lm_head.weight": tensors["shared.weight"].flip(0) * 0.7}


def logits_bias(tensors: Tensors) -> Tensors:
    """A buffer, which `fill` leaves as zeros."""
    bias = tensors["final_logits_bias"]
    return tensors | {"final_logits_bias": torch.linspace(-1, 1, bias.numel()).reshape(bias.shape)}


def bert(width: int, heads: int, intermediate: int, **more: object) -> dict:
    return {
        "vocab_size": 51,
        "hidden_size": width,
        "num_hidden_layers": 2,
        "num_attention_heads": heads,
        "intermediate_size": intermediate,
        "max_position_embeddings": 14,
    } | more


def roberta(width: int, heads: int, intermediate: int, **more: object) -> dict:
    return bert(width, heads, intermediate, type_vocab_size=1, layer_norm_eps=1e-5, pad_token_id=1) | more


def distilbert(width: int, heads: int, intermediate: int, **more: object) -> dict:
    return {
        "vocab_size": 50,
        "dim": width,
        "n_layers": 2,
        "n_heads": heads,
        "hidden_dim": intermediate,
        "max_position_embeddings": 12,
    } | more


def llama(hidden_size: int, num_attention_heads: int, **more: object) -> dict:
    return {
        "vocab_size": 29,
        "hidden_size": hidden_size,
        "num_attention_heads": num_attention_heads,
        "num_hidden_layers": 2,
        "intermediate_size": 2 * hidden_size + 5,
        "max_position_embeddings": 40,
        "rope_parameters": rope("default"),
    } | more


def opt(hidden_size: int, num_attention_heads: int, **more: object) -> dict:
    return {
        "vocab_size": 31,
        "hidden_size": hidden_size,
        "num_attention_heads": num_attention_heads,
        "num_hidden_layers": 2,
        "ffn_dim": 2 * hidden_size + 3,
        "max_position_embeddings": 14,
    } | more


def bloom(hidden_size: int, n_head: int, **more: object) -> dict:
    return {"vocab_size": 31, "hidden_size": hidden_size, "n_head": n_head, "n_layer": 2} | more


def bart(d_model: int, heads: int, **more: object) -> dict:
    sizes = {"vocab_size": 31, "d_model": d_model, "max_position_embeddings": 14, "pad_token_id": 0}
    for side, width in (("encoder", 2 * d_model + 1), ("decoder", 2 * d_model - 3)):
        sizes |= {f"{side}_layers": 2, f"{side}_attention_heads": heads, f"{side}_ffn_dim": width}
    return sizes | more


def t5(d_model: int, num_heads: int, d_kv: int, **more: object) -> dict:
    return {
        "vocab_size": 31,
        "d_model": d_model,
        "num_heads": num_heads,
        "d_kv": d_kv,
        "d_ff": 2 * d_model + 1,
        "num_layers": 2,
        "relative_attention_num_buckets": 8,
        "relative_attention_max_distance": 7,
    } | more


def rope(kind: str, **more: object) -> dict:
    return {"rope_type": kind, "rope_theta": 500.0} | more


def gpt(width: int, heads: int, **more: object) -> dict:
    return {
        "vocab_size": 50,
        "n_positions": 14,
        "n_embd": width,
        "n_layer": 2,
        "n_head": heads,
        "bos_token_id": 49,
        "eos_token_id": 49,
    } | more


def openai_gpt(width: int, heads: int, **more: object) -> dict:
    return gpt(width, heads, bos_token_id=None, eos_token_id=None) | more


def native_transformer(width: int, heads: int, **more: object) -> dict:
    return {
        "d_model": width,
        "nhead": heads,
        "num_encoder_layers": 2,
        "num_decoder_layers": 2,
        "dim_feedforward": 22,
        "vocab_size": 50,
        "max_position_embeddings": 14,
        "bos_token_id": 1,
        "eos_token_id": 2,
    } | more


def annotated(width: int, heads: int, **more: object) -> dict:
    return {
        "d_model": width,
        "n_head": heads,
        "ffn_hidden": 22,
        "n_layers": 2,
        "enc_voc_size": 50,
        "dec_voc_size": 44,
        "max_len": 14,
        "drop_prob": 0.1,
        "src_pad_idx": 1,
        "trg_pad_idx": 0,
        "trg_sos_idx": 2,
        "trg_eos_idx": 3,
    } | more


def labels(count: int) -> dict:
    return {"num_labels": count}


BERT_CASES = [
    Case("bert-model", "BertModel", bert(20, 4, 36), inputs=ALL_SETS, lengths=(7, 9, 1, 4, 8)),
    Case("bert-wide", "BertModel", bert(48, 3, 40, num_hidden_layers=1), config_form="4"),
    Case("bert-three-layers", "BertModel", bert(15, 3, 18, num_hidden_layers=3, type_vocab_size=4)),
    Case("bert-masked-lm", "BertForMaskedLM", bert(24, 2, 20), inputs=("inputs", "inputs_holes")),
    Case("bert-masked-lm-untied", "BertForMaskedLM", bert(12, 2, 20, tie_word_embeddings=False), config_form="4"),
    Case(
        "bert-sequence-classification",
        "BertForSequenceClassification",
        bert(32, 2, 24, num_hidden_layers=1) | labels(13),
        inputs=("inputs", "inputs_left"),
        lengths=POOLED_LENGTHS,
    ),
    Case("bert-token-classification", "BertForTokenClassification", bert(16, 2, 30) | labels(9)),
    Case("bert-question-answering", "BertForQuestionAnswering", bert(16, 4, 30), lengths=(11, 8, 3, 11, 7, 5)),
    Case("bert-relu", "BertModel", bert(12, 2, 36, hidden_act="relu"), config_form="short"),
    Case("bert-gelu-new", "BertModel", bert(12, 1, 28, hidden_act="gelu_new", layer_norm_eps=1e-3)),
    Case("bert-silu", "BertModel", bert(12, 1, 40, hidden_act="silu")),
    Case("bert-short-config", "BertModel", bert(15, 3, 24), config_form="short-base"),
    Case("bert-legacy-names", "BertModel", bert(12, 2, 20), config_form="4", rewrite=bert_legacy),
    Case("bert-masked-lm-legacy-names", "BertForMaskedLM", bert(12, 2, 20), "4", rewrite=bert_gamma_beta_head),
    Case(
        "bert-unprefixed-head",
        "BertForTokenClassification",
        bert(12, 2, 20) | labels(7),
        rewrite=without_prefix("bert"),
    ),
    Case("bert-f16", "BertModel", bert(24, 3, 32), config_form="4", dtype=torch.float16),
    Case(
        "bert-long",
        "BertModel",
        bert(12, 2, 20, max_position_embeddings=160),
        config_form="short",
        lengths=(33, 67, 16),
    ),
]

ROBERTA_CASES = [
    Case("roberta-model", "RobertaModel", roberta(15, 3, 28), inputs=ALL_SETS),
    Case("roberta-masked-lm", "RobertaForMaskedLM", roberta(12, 2, 24), config_form="4"),
    Case(
        "roberta-sequence-classification",
        "RobertaForSequenceClassification",
        roberta(12, 2, 28) | labels(11),
        inputs=("inputs", "inputs_holes"),
        lengths=POOLED_LENGTHS,
    ),
]

ELECTRA_CASES = [
    Case("electra-model", "ElectraModel", bert(18, 3, 30, embedding_size=10), inputs=ALL_SETS),
    Case("electra-masked-lm", "ElectraForMaskedLM", bert(16, 2, 24, embedding_size=16), config_form="4"),
    Case("electra-pretraining", "ElectraForPreTraining", bert(16, 4, 24, embedding_size=12), config_form="short"),
    Case(
        "electra-sequence-classification",
        "ElectraForSequenceClassification",
        bert(12, 2, 24, embedding_size=8, num_labels=3),
        lengths=POOLED_LENGTHS,
    ),
    Case("albert-model", "AlbertModel", bert(18, 3, 30, embedding_size=10, num_hidden_layers=3), inputs=ALL_SETS, lengths=POOLED_LENGTHS),
    Case(
        "albert-groups",
        "AlbertForMaskedLM",
        bert(16, 2, 24, embedding_size=12, num_hidden_layers=5, num_hidden_groups=2, inner_group_num=2),
        config_form="4",
    ),
    Case("albert-pretraining", "AlbertForPreTraining", bert(16, 4, 24, embedding_size=12), config_form="short", lengths=POOLED_LENGTHS),
    Case("bert-pretraining", "BertForPreTraining", bert(16, 4, 24), lengths=POOLED_LENGTHS),
]

DISTILBERT_CASES = [
    Case("distilbert-model", "DistilBertModel", distilbert(15, 3, 28), inputs=("inputs", "inputs_holes", "inputs_bare")),
    Case("distilbert-masked-lm", "DistilBertForMaskedLM", distilbert(16, 1, 20), config_form="4"),
    Case(
        "distilbert-sequence-classification",
        "DistilBertForSequenceClassification",
        distilbert(12, 2, 20, activation="relu", n_layers=3) | labels(12),
        config_form="short",
        lengths=POOLED_LENGTHS,
    ),
]

GPT_CASES = [
    Case("openai-gpt-model", "OpenAIGPTModel", openai_gpt(15, 3), inputs=("inputs", "inputs_left", "inputs_bare")),
    Case("openai-gpt-lm", "OpenAIGPTLMHeadModel", openai_gpt(12, 1, afn="relu"), config_form="4"),
    Case("gpt2-model", "GPT2Model", gpt(15, 3), inputs=ALL_SETS),
    Case("gpt2-lm", "GPT2LMHeadModel", gpt(24, 2, n_inner=30), inputs=("inputs", "inputs_left"), config_form="4"),
    Case("gpt2-lm-untied", "GPT2LMHeadModel", gpt(12, 2, tie_word_embeddings=False)),
    Case(
        "gpt2-inverse-layer",
        "GPT2Model",
        gpt(12, 2, n_layer=3, n_inner=20, scale_attn_by_inverse_layer_idx=True, reorder_and_upcast_attn=True),
    ),
    Case(
        "gpt2-unscaled",
        "GPT2Model",
        gpt(16, 2, n_inner=20, activation_function="gelu", scale_attn_weights=False),
        config_form="short",
    ),
    Case("gpt2-relu", "GPT2LMHeadModel", gpt(12, 3, activation_function="relu", layer_norm_epsilon=1e-3)),
    Case("gpt2-prefixed", "GPT2Model", gpt(12, 2, n_inner=24), config_form="4", rewrite=gpt2_prefixed),
    Case("gpt2-lm-unprefixed", "GPT2LMHeadModel", gpt(12, 2, n_inner=24), config_form="4", rewrite=gpt2_unprefixed),
    Case("gpt2-lm-bf16", "GPT2LMHeadModel", gpt(24, 3), dtype=torch.bfloat16),
    Case("gpt2-long", "GPT2Model", gpt(12, 2, n_inner=20, n_positions=160), config_form="short", lengths=(20, 67, 33)),
    Case("llama-lm", "LlamaForCausalLM", llama(16, 4, num_key_value_heads=2), inputs=("inputs", "inputs_left")),
    Case(
        "llama-biases",
        "LlamaForCausalLM",
        llama(14, 2, head_dim=6, attention_bias=True, mlp_bias=True, tie_word_embeddings=True),
        config_form="4",
    ),
    Case("llama-model", "LlamaModel", llama(24, 3, num_key_value_heads=1, rms_norm_eps=1e-3), inputs=ALL_SETS),
    Case("llama-linear", "LlamaModel", llama(16, 2, rope_parameters=rope("linear", factor=2.5)), config_form="4"),
    Case("llama-dynamic", "LlamaModel", llama(16, 2, rope_parameters=rope("dynamic", factor=2.0))),
    Case(
        "llama-llama3",
        "LlamaModel",
        llama(
            24,
            2,
            rope_parameters=rope("llama3", factor=8.0, low_freq_factor=1.0, high_freq_factor=4.0, original_max_position_embeddings=30),
        ),
        config_form="4",
    ),
    Case(
        "llama-yarn",
        "LlamaModel",
        llama(36, 2, rope_parameters=rope("yarn", factor=4.0, original_max_position_embeddings=20, beta_fast=4.0)),
    ),
    Case("mistral-lm", "MistralForCausalLM", llama(20, 4, num_key_value_heads=2, head_dim=6, sliding_window=4), inputs=ALL_SETS[:2]),
    Case("mistral-model", "MistralModel", llama(16, 2, num_key_value_heads=1, sliding_window=None), config_form="short"),
    Case(
        "qwen2-lm",
        "Qwen2ForCausalLM",
        llama(16, 4, num_key_value_heads=2, num_hidden_layers=3, use_sliding_window=True, sliding_window=3, max_window_layers=1),
        config_form="4",
    ),
    Case("qwen2-model", "Qwen2Model", llama(12, 2, num_key_value_heads=2), config_form="short", inputs=ALL_SETS),
    Case("qwen3-lm", "Qwen3ForCausalLM", llama(20, 4, num_key_value_heads=2, head_dim=6, attention_bias=True, tie_word_embeddings=True)),
    Case(
        "qwen3-model",
        "Qwen3Model",
        llama(
            16,
            2,
            num_key_value_heads=1,
            head_dim=10,
            num_hidden_layers=3,
            use_sliding_window=True,
            sliding_window=4,
            layer_types=["sliding_attention", "full_attention", "sliding_attention"],
        ),
        inputs=("inputs", "inputs_left", "inputs_bare", "inputs_positions"),
    ),
    Case("phi3-lm", "Phi3ForCausalLM", llama(24, 4, num_key_value_heads=2, sliding_window=5, pad_token_id=0), inputs=ALL_SETS[:2]),
    Case(
        "phi3-model",
        "Phi3Model",
        llama(32, 2, rope_parameters=rope("default", partial_rotary_factor=0.5), pad_token_id=0),
        config_form="4",
    ),
    Case(  # as Phi-4-mini: sequences no longer than those of the training
        "phi3-longrope",
        "Phi3ForCausalLM",
        llama(
            32,
            4,
            num_key_value_heads=2,
            rope_parameters=rope("longrope", short_factor=[1.0, 1.2, 1.7], long_factor=[1.1, 4.0, 9.0], partial_rotary_factor=0.75),
            original_max_position_embeddings=20,
            tie_word_embeddings=True,
            pad_token_id=0,
        ),
        config_form="4",
    ),
    Case("gemma-lm", "GemmaForCausalLM", llama(20, 4, num_key_value_heads=1, head_dim=10), inputs=ALL_SETS[:2]),
    Case("gemma-model", "GemmaModel", llama(16, 2, num_key_value_heads=2, head_dim=8, hidden_act="gelu"), config_form="short"),
    Case("gpt-neox-lm", "GPTNeoXForCausalLM", llama(24, 3, rope_parameters=rope("default", partial_rotary_factor=0.5)), inputs=ALL_SETS[:2]),
    Case("gpt-neox-old-head", "GPTNeoXForCausalLM", llama(24, 3), config_form="4", rewrite=embed_out),
    Case("gpt-neox-sequential", "GPTNeoXModel", llama(20, 5, use_parallel_residual=False, attention_bias=False), inputs=ALL_SETS, config_form="short"),
    Case("gptj-lm", "GPTJForCausalLM", gpt(24, 2, rotary_dim=8), inputs=ALL_SETS[:2]),
    Case("gptj-model", "GPTJModel", gpt(20, 2, rotary_dim=10, n_inner=30), inputs=ALL_SETS, config_form="4"),
    Case("bart-lm", "BartForConditionalGeneration", bart(16, 4), inputs=ALL_SETS[:4]),
    Case("bart-model", "BartModel", bart(18, 3, decoder_layers=3, scale_embedding=True), config_form="4"),
    Case("mbart-lm", "MBartForConditionalGeneration", bart(16, 2, activation_function="relu"), config_form="short"),
    Case("marian-lm", "MarianMTModel", bart(17, 1, scale_embedding=True), inputs=ALL_SETS[:3], rewrite=logits_bias),
    Case("marian-model", "MarianModel", bart(12, 3, decoder_vocab_size=23, share_encoder_decoder_embeddings=False), config_form="4"),
    Case("pegasus-lm", "PegasusForConditionalGeneration", bart(16, 4, activation_function="relu"), config_form="4"),
    Case("blenderbot-lm", "BlenderbotForConditionalGeneration", bart(20, 2, encoder_layers=1), config_form="short"),
    Case("blenderbot-small-lm", "BlenderbotSmallForConditionalGeneration", bart(16, 2), inputs=ALL_SETS[:2]),
    Case("t5-lm", "T5ForConditionalGeneration", t5(16, 4, 5), inputs=("inputs", "inputs_left", "inputs_bare")),
    Case("t5-model", "T5Model", t5(18, 3, 6, num_decoder_layers=3), config_form="short"),
    Case("t5-gated", "T5ForConditionalGeneration", t5(16, 2, 4, feed_forward_proj="gated-gelu", tie_word_embeddings=False)),
    Case("t5-own-head", "T5ForConditionalGeneration", t5(16, 2, 4, feed_forward_proj="gated-silu", tie_word_embeddings=False), rewrite=own_head),
    Case("t5-encoder", "T5EncoderModel", t5(14, 2, 8, relative_attention_num_buckets=32, relative_attention_max_distance=20), lengths=(40, 9)),
    Case("opt-lm", "OPTForCausalLM", opt(16, 4), inputs=ALL_SETS[:2]),
    Case("opt-model", "OPTModel", opt(18, 3), inputs=ALL_SETS, config_form="4"),
    Case("opt-projected", "OPTForCausalLM", opt(16, 2, word_embed_proj_dim=10, do_layer_norm_before=False), config_form="short"),
    Case("opt-plain", "OPTModel", opt(16, 2, enable_bias=False, layer_norm_elementwise_affine=False, _remove_final_layer_norm=True)),
    Case("bloom-lm", "BloomForCausalLM", bloom(24, 4), inputs=ALL_SETS[:2]),
    Case("bloom-model", "BloomModel", bloom(36, 6, apply_residual_connection_post_layernorm=True), inputs=ALL_SETS[:4], config_form="4"),
]

NATIVE_CASES = [
    Case(
        "transformer-sinusoidal",
        "transformer",
        native_transformer(15, 3, tgt_vocab_size=44, max_position_embeddings=200),
        inputs=("inputs", "inputs_left", "inputs_holes", "inputs_bare"),
    ),
    Case(
        "transformer-learned",
        "transformer",
        native_transformer(12, 2, position_embedding_type="learned", norm_first=True, activation="gelu"),
    ),
    Case(
        "transformer-tied",
        "transformer",
        native_transformer(12, 1, tie_word_embeddings=True, scale_embedding=False, layer_norm_eps=1e-3),
    ),
    Case(
        "transformer-uneven",
        "transformer",
        native_transformer(12, 2, num_encoder_layers=2, num_decoder_layers=1, norm_first=True),
    ),
    Case(
        "annotated-unbiased",
        "annotated_transformer",
        annotated(15, 3, max_len=200),
        inputs=("inputs", "inputs_left", "inputs_holes", "inputs_masks"),
    ),
    Case(
        "annotated-biased",
        "annotated_transformer",
        annotated(12, 2, layer_norm="biased", scale_embedding=True),
    ),
    Case("annotated-weight-bias", "annotated_transformer", annotated(12, 2, n_layers=1), rewrite=weight_and_bias),
    Case(
        "bert-pytorch",
        "bert_pytorch",
        {"vocab_size": 50, "hidden": 15, "n_layers": 2, "attn_heads": 3, "max_len": 200, "dropout": 0.1},
        inputs=("inputs", "inputs_left", "inputs_holes", "inputs_masks"),
        rewrite=with_position_table,
    ),
    Case(
        "bert-pytorch-pretraining",
        "bert_pytorch",
        {"architectures": ["BERTLM"], "vocab_size": 50, "hidden": 12, "n_layers": 1, "attn_heads": 2, "max_len": 14},
        lengths=POOLED_LENGTHS,
    ),
]

CASES = BERT_CASES + ELECTRA_CASES + ROBERTA_CASES + DISTILBERT_CASES + GPT_CASES + NATIVE_CASES + MORE_CASES
