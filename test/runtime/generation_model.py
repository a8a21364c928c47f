"""A language model for generate() that is a table: the scores after the last two tokens."""

import numpy as np
import tokenizers
import torch
from transformers import GenerationMixin, PretrainedConfig, PreTrainedModel, PreTrainedTokenizerFast
from transformers.modeling_outputs import CausalLMOutput


class TableConfig(PretrainedConfig):
    model_type = "table"

    def __init__(self, vocab_size: int = 2, **more):
        self.vocab_size = vocab_size
        super().__init__(**more)


class TableModel(PreTrainedModel, GenerationMixin):
    config_class = TableConfig
    main_input_name = "input_ids"

    def __init__(self, config: TableConfig, table: torch.Tensor | None = None):
        super().__init__(config)
        self.table = table
        self.weight = torch.nn.Parameter(torch.zeros(1))  # generate() asks a parameter for its device

    @classmethod
    def empty(cls, vocabulary: int) -> "TableModel":
        return cls(TableConfig(vocab_size=vocabulary))

    @classmethod
    def of(cls, table: np.ndarray) -> "TableModel":
        return cls(TableConfig(vocab_size=len(table)), torch.from_numpy(table))

    def _supports_default_dynamic_cache(self) -> bool:
        return False

    def prepare_inputs_for_generation(self, input_ids, **kwargs):
        return {"input_ids": input_ids}

    def forward(self, input_ids, attention_mask=None, **kwargs) -> CausalLMOutput:
        last = input_ids[:, -1]
        before = input_ids[:, -2] if input_ids.shape[1] > 1 else torch.zeros_like(last)
        return CausalLMOutput(logits=self.table[before, last][:, None])


def tokenizer_of(words: list[str]) -> PreTrainedTokenizerFast:
    """A tokenizer whose tokens are these, byte for byte."""
    vocabulary = {word: i for i, word in enumerate(words)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.BPE(vocabulary, []))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = tokenizers.decoders.ByteLevel()
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer)
