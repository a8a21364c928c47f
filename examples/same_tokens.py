#!/usr/bin/env python3
"""Continues a prompt with a compiled program and with transformers in float64, and compares the tokens.

usage: same_tokens.py PROGRAM CKPT_DIR   (needs numpy, torch and transformers; exit code 1: they differ)
"""

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import torch
import transformers

NEW = 32


def theirs(folder: str, ids: np.ndarray) -> np.ndarray:
    transformers.logging.set_verbosity_error()
    transformers.logging.disable_progress_bar()
    config = transformers.AutoConfig.from_pretrained(folder)
    loader = transformers.AutoModelForSeq2SeqLM if config.is_encoder_decoder else transformers.AutoModelForCausalLM
    model = loader.from_pretrained(folder, dtype=torch.float64).eval()
    with torch.no_grad():
        return model.generate(torch.from_numpy(ids), do_sample=False, num_beams=1, max_new_tokens=NEW).numpy()


def ours(program: str, folder: str, ids: np.ndarray) -> np.ndarray:
    with tempfile.TemporaryDirectory() as scratch:
        inputs, outputs = Path(scratch) / "ids.npy", Path(scratch) / "sequences.npy"
        np.save(inputs, ids)
        files = ["--inputs", f"input_ids={inputs}", "--outputs", f"sequences={outputs}"]
        command = [program, "generate", "--weights", folder, *files, "--max-new-tokens", str(NEW)]
        subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
        return np.load(outputs)


def main() -> int:
    program, folder = sys.argv[1:]
    ids = np.random.default_rng(0).integers(100, 30000, (1, 20))
    found, wanted = ours(program, folder, ids), theirs(folder, ids)
    same = found.shape == wanted.shape and (found == wanted).all()
    print(f"{NEW} tokens behind a prompt of 20: {'the same' if same else 'not the same'} as transformers' in float64")
    return 0 if same else 1


if __name__ == "__main__":
    sys.exit(main())
