"""Greedy generation of transformers' own with a static cache, its step compiled with CUDA graphs."""

import numpy as np
import torch
import transformers


def load(setup):
    model = transformers.AutoModelForCausalLM.from_pretrained(setup.checkpoint, torch_dtype=torch.bfloat16)
    model = model.eval().to("cuda")
    model.generation_config.cache_implementation = "static"  # with it, generate() compiles the step

    def prepare(inputs):
        length, count = int(inputs["length"]), int(inputs["new_tokens"])
        vocabulary = model.config.vocab_size
        ids = torch.from_numpy(np.random.default_rng(0).integers(5, vocabulary, (1, length))).to("cuda")
        ends = {"min_new_tokens": count, "max_new_tokens": count, "do_sample": False, "pad_token_id": 0}

        @torch.inference_mode()
        def run():
            return model.generate(ids, attention_mask=torch.ones_like(ids), **ends)[0, length:].cpu()

        return run

    return prepare
