"""The three definitions without a Hugging Face config, in PyTorch: the reference for native models.

The module and parameter names give exactly the checkpoint names of the definitions, so that
`load_state_dict` takes a checkpoint as it is. Everything runs in evaluation mode: no dropout.

Shapes: ids and masks are [batch, sequence], hidden states [batch, sequence, width]; masks are 1
where a token counts.
"""

import math

import torch
from torch import Tensor, nn

# An additive score that leaves a masked key no weight, and finite, so that a query that sees no
# key at all (a padding position) stays finite too and cannot poison the next layer.
MASKED = -1e30


def sinusoids(length: int, width: int, dtype: torch.dtype) -> Tensor:
    """[length, width]: even columns sin(position / 10000^(2i / width)), odd columns cos of the same angle."""
    position = torch.arange(length, dtype=dtype)[:, None]
    even = torch.arange(0, width, 2, dtype=dtype)
    angle = position / 10000 ** (even / width)
    table = torch.zeros(length, width, dtype=dtype)
    table[:, 0::2] = torch.sin(angle)
    table[:, 1::2] = torch.cos(angle[:, : width // 2])
    return table


def causal_mask(length: int) -> Tensor:
    """[length, length], true where a query (row) may see a key (column)."""
    return torch.ones(length, length, dtype=torch.bool).tril()


# --- 1. transformer: torch.nn.Transformer ------------------------------------------------------


class Transformer(nn.Module):
    DEFAULTS = {
        "d_model": 512,
        "nhead": 8,
        "num_encoder_layers": 6,
        "num_decoder_layers": 6,
        "dim_feedforward": 2048,
        "activation": "relu",
        "norm_first": False,
        "layer_norm_eps": 1e-5,
        "max_position_embeddings": 512,
        "position_embedding_type": "sinusoidal",
        "scale_embedding": True,
        "tie_word_embeddings": False,
    }

    def __init__(self, config: dict):
        super().__init__()
        c = self.DEFAULTS | config
        self.config = c
        width, target_vocab = c["d_model"], c.get("tgt_vocab_size", c["vocab_size"])
        self.src_embed = nn.Embedding(c["vocab_size"], width)
        self.tgt_embed = nn.Embedding(target_vocab, width)
        if c["position_embedding_type"] == "learned":
            self.src_pos_embed = nn.Embedding(c["max_position_embeddings"], width)
            self.tgt_pos_embed = nn.Embedding(c["max_position_embeddings"], width)
        self.transformer = nn.Transformer(
            d_model=width,
            nhead=c["nhead"],
            num_encoder_layers=c["num_encoder_layers"],
            num_decoder_layers=c["num_decoder_layers"],
            dim_feedforward=c["dim_feedforward"],
            activation=c["activation"],
            norm_first=c["norm_first"],
            layer_norm_eps=c["layer_norm_eps"],
            batch_first=True,
        )
        self.generator = nn.Linear(width, target_vocab)
        if c["tie_word_embeddings"]:
            self.generator.weight = self.tgt_embed.weight

    def embed(self, ids: Tensor, tokens: nn.Embedding, positions: nn.Embedding | None) -> Tensor:
        x = tokens(ids)
        length, width = x.shape[1:]
        if self.config["scale_embedding"]:
            x = x * math.sqrt(width)
        if positions is None:
            return x + sinusoids(length, width, x.dtype)
        return x + positions.weight[:length]

    def forward(
        self,
        input_ids: Tensor,
        decoder_input_ids: Tensor,
        attention_mask: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
    ) -> dict[str, Tensor]:
        learned = self.config["position_embedding_type"] == "learned"
        source = self.embed(input_ids, self.src_embed, self.src_pos_embed if learned else None)
        target = self.embed(decoder_input_ids, self.tgt_embed, self.tgt_pos_embed if learned else None)
        source_mask = additive(attention_mask, input_ids, source.dtype)
        hidden = self.transformer(
            source,
            target,
            tgt_mask=additive(causal_mask(target.shape[1]), None, source.dtype),
            src_key_padding_mask=source_mask,
            memory_key_padding_mask=source_mask,
            tgt_key_padding_mask=additive(decoder_attention_mask, decoder_input_ids, source.dtype),
        )
        return {"logits": self.generator(hidden)}


def additive(mask: Tensor | None, ids: Tensor | None, dtype: torch.dtype) -> Tensor:
    """0 where the mask is set, MASKED elsewhere; a missing mask is all ones."""
    mask = torch.ones_like(ids) if mask is None else mask
    return torch.zeros(mask.shape, dtype=dtype).masked_fill(mask == 0, MASKED)


# --- 2. annotated_transformer ------------------------------------------------------------------


class UnbiasedLayerNorm(nn.Module):
    """gamma * (x - mean) / sqrt(var + eps) + beta, the variance with n-1."""

    def __init__(self, width: int, eps: float = 1e-12):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(width))
        self.beta = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, unbiased=True, keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(variance + self.eps) + self.beta


def annotated_norm(config: dict) -> nn.Module:
    if config.get("layer_norm", "unbiased") == "unbiased":
        return UnbiasedLayerNorm(config["d_model"])
    return nn.LayerNorm(config["d_model"], eps=config.get("layer_norm_eps", 1e-5))


def split_heads(x: Tensor, heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.view(batch, length, heads, width // heads).transpose(1, 2)


def attend(query: Tensor, key: Tensor, value: Tensor, mask: Tensor) -> Tensor:
    """Scaled dot product on heads [batch, heads, length, head_dim], masked scores are -1e9; merges the heads."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    weights = scores.masked_fill(~mask, -1e9).softmax(-1)
    return (weights @ value).transpose(1, 2).flatten(2)


class AnnotatedAttention(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        width = config["d_model"]
        self.heads = config["n_head"]
        self.w_q = nn.Linear(width, width)
        self.w_k = nn.Linear(width, width)
        self.w_v = nn.Linear(width, width)
        self.fc = nn.Linear(width, width)

    def forward(self, x: Tensor, memory: Tensor, mask: Tensor) -> Tensor:
        query, key, value = self.w_q(x), self.w_k(memory), self.w_v(memory)
        return self.fc(attend(*(split_heads(t, self.heads) for t in (query, key, value)), mask))


class AnnotatedFeedForward(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.fc1 = nn.Linear(config["d_model"], config["ffn_hidden"])
        self.fc2 = nn.Linear(config["ffn_hidden"], config["d_model"])

    def forward(self, x: Tensor) -> Tensor:
        return self.fc2(self.fc1(x).relu())


class AnnotatedEncoderLayer(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.mha = AnnotatedAttention(config)
        self.ln1 = annotated_norm(config)
        self.ffn = AnnotatedFeedForward(config)
        self.ln2 = annotated_norm(config)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = self.ln1(x + self.mha(x, x, mask))
        return self.ln2(x + self.ffn(x))


class AnnotatedDecoderLayer(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.mha1 = AnnotatedAttention(config)
        self.ln1 = annotated_norm(config)
        self.mha2 = AnnotatedAttention(config)
        self.ln2 = annotated_norm(config)
        self.ffn = AnnotatedFeedForward(config)
        self.ln3 = annotated_norm(config)

    def forward(self, x: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None) -> Tensor:
        x = self.ln1(x + self.mha1(x, x, mask))
        if memory is not None:
            x = self.ln2(x + self.mha2(x, memory, memory_mask))
        return self.ln3(x + self.ffn(x))


class AnnotatedEmbedding(nn.Module):
    def __init__(self, vocab: int, padding_idx: int, config: dict):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab, config["d_model"], padding_idx=padding_idx)
        self.scale = math.sqrt(config["d_model"]) if config.get("scale_embedding", False) else 1.0

    def forward(self, ids: Tensor) -> Tensor:
        x = self.tok_emb(ids) * self.scale
        return x + sinusoids(*x.shape[1:], x.dtype)


class AnnotatedEncoder(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.emb = AnnotatedEmbedding(config["enc_voc_size"], config["src_pad_idx"], config)
        self.layers = nn.ModuleList(AnnotatedEncoderLayer(config) for _ in range(config["n_layers"]))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x, mask)
        return x


class AnnotatedDecoder(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.emb = AnnotatedEmbedding(config["dec_voc_size"], config["trg_pad_idx"], config)
        self.layers = nn.ModuleList(AnnotatedDecoderLayer(config) for _ in range(config["n_layers"]))
        self.linear = nn.Linear(config["d_model"], config["dec_voc_size"])

    def forward(self, ids: Tensor, memory: Tensor | None, mask: Tensor, memory_mask: Tensor | None) -> Tensor:
        x = self.emb(ids)
        for layer in self.layers:
            x = layer(x, memory, mask, memory_mask)
        return self.linear(x)


class AnnotatedTransformer(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        self.config = config
        self.encoder = AnnotatedEncoder(config)
        self.decoder = AnnotatedDecoder(config)

    def forward(
        self,
        decoder_input_ids: Tensor,
        input_ids: Tensor | None = None,
        attention_mask: Tensor | None = None,
        decoder_attention_mask: Tensor | None = None,
    ) -> dict[str, Tensor]:
        target_mask = key_mask(decoder_attention_mask, decoder_input_ids, self.config["trg_pad_idx"])
        target_mask = target_mask & causal_mask(decoder_input_ids.shape[1])
        if input_ids is None:  # decoder only: the cross-attention is skipped
            return {"logits": self.decoder(decoder_input_ids, None, target_mask, None)}
        source_mask = key_mask(attention_mask, input_ids, self.config["src_pad_idx"])
        memory = self.encoder(input_ids, source_mask)
        return {"logits": self.decoder(decoder_input_ids, memory, target_mask, source_mask)}


def key_mask(mask: Tensor | None, ids: Tensor, pad: int) -> Tensor:
    """[batch, 1, 1, keys], true for keys that count: the given mask, else ids that are not the padding id."""
    mask = ids != pad if mask is None else mask != 0
    return mask[:, None, None, :]


# --- 3. bert_pytorch: the pre-norm BERT --------------------------------------------------------


class StdLayerNorm(nn.Module):
    """a_2 * (x - mean) / (std + eps) + b_2, the standard deviation with n-1, eps outside the root."""

    def __init__(self, width: int, eps: float = 1e-6):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(width))
        self.b_2 = nn.Parameter(torch.zeros(width))
        self.eps = eps

    def forward(self, x: Tensor) -> Tensor:
        mean = x.mean(-1, keepdim=True)
        return self.a_2 * (x - mean) / (x.std(-1, keepdim=True) + self.eps) + self.b_2


class BertPytorchAttention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.linear_layers = nn.ModuleList(nn.Linear(width, width) for _ in range(3))
        self.output_linear = nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        query, key, value = (split_heads(linear(x), self.heads) for linear in self.linear_layers)
        return self.output_linear(attend(query, key, value, mask))


class BertPytorchFeedForward(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.w_1 = nn.Linear(width, 4 * width)
        self.w_2 = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.w_2(nn.functional.gelu(self.w_1(x), approximate="tanh"))


class BertPytorchSublayer(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.norm = StdLayerNorm(width)


class BertPytorchBlock(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.attention = BertPytorchAttention(width, heads)
        self.feed_forward = BertPytorchFeedForward(width)
        self.input_sublayer = BertPytorchSublayer(width)
        self.output_sublayer = BertPytorchSublayer(width)

    def forward(self, x: Tensor, mask: Tensor) -> Tensor:
        x = x + self.attention(self.input_sublayer.norm(x), mask)
        return x + self.feed_forward(self.output_sublayer.norm(x))


class BertPytorchEmbedding(nn.Module):
    def __init__(self, vocab: int, width: int):
        super().__init__()
        self.token = nn.Embedding(vocab, width, padding_idx=0)
        self.segment = nn.Embedding(3, width, padding_idx=0)

    def forward(self, ids: Tensor, segments: Tensor) -> Tensor:
        x = self.token(ids)
        return x + sinusoids(*x.shape[1:], x.dtype) + self.segment(segments)


class BertPytorch(nn.Module):
    def __init__(self, config: dict):
        super().__init__()
        width = config["hidden"]
        self.embedding = BertPytorchEmbedding(config["vocab_size"], width)
        self.transformer_blocks = nn.ModuleList(
            BertPytorchBlock(width, config["attn_heads"]) for _ in range(config["n_layers"])
        )

    def forward(
        self, input_ids: Tensor, token_type_ids: Tensor, attention_mask: Tensor | None = None
    ) -> dict[str, Tensor]:
        mask = input_ids > 0 if attention_mask is None else attention_mask != 0
        x = self.embedding(input_ids, token_type_ids)
        for block in self.transformer_blocks:
            x = block(x, mask[:, None, None, :])
        return {"last_hidden_state": x}


class BertPytorchLM(nn.Module):
    """The class BERTLM: the model with its heads of training, and with labels their loss. Those of padding do not count."""

    def __init__(self, config: dict):
        super().__init__()
        self.config = config
        self.bert = BertPytorch(config)
        self.mask_lm = nn.ModuleDict({"linear": nn.Linear(config["hidden"], config["vocab_size"])})
        self.next_sentence = nn.ModuleDict({"linear": nn.Linear(config["hidden"], 2)})

    def forward(
        self,
        input_ids: Tensor,
        token_type_ids: Tensor,
        attention_mask: Tensor | None = None,
        labels: Tensor | None = None,
        next_sentence_label: Tensor | None = None,
    ) -> dict[str, Tensor]:
        x = self.bert(input_ids, token_type_ids, attention_mask)["last_hidden_state"]
        words, pair = self.mask_lm["linear"](x), self.next_sentence["linear"](x[:, 0])
        outputs = {"last_hidden_state": x, "prediction_logits": words, "seq_relationship_logits": pair}
        if labels is not None:
            of_words = nn.functional.cross_entropy(words.flatten(0, 1), labels.masked_fill(labels == 0, -100).flatten())
            outputs["loss"] = of_words + nn.functional.cross_entropy(pair, next_sentence_label)
        return outputs


NATIVE_MODELS: dict[str, type[nn.Module]] = {
    "transformer": Transformer,
    "annotated_transformer": AnnotatedTransformer,
    "bert_pytorch": BertPytorch,
}


def native_model(model_type: str, config: dict) -> nn.Module:
    return (BertPytorchLM if config.get("architectures") == ["BERTLM"] else NATIVE_MODELS[model_type])(config)
