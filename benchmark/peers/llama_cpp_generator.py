"""llama.cpp, greedy; from a number of made-up tokens a number of new ones. Of a Llama's checkpoint."""

import ctypes
import json
import os

FLOAT32 = "F32"


def rope_order(weight, heads):
    """Rotary pairs beside each other, as llama.cpp has them, where the checkpoint has halves."""
    return weight.reshape(heads, 2, -1, weight.shape[1]).swapaxes(1, 2).reshape(weight.shape)


def tensors(weights, config):
    """llama.cpp's names with their arrays."""
    yield "token_embd", weights["model.embed_tokens.weight"]
    yield "output_norm", weights["model.norm.weight"]
    yield "output", weights["lm_head.weight"]
    heads = {"q": config["num_attention_heads"], "k": config["num_key_value_heads"]}
    for layer in range(config["num_hidden_layers"]):
        def of(name):
            return weights[f"model.layers.{layer}.{name}.weight"]

        for name in "qkv":
            weight = of(f"self_attn.{name}_proj")
            yield f"blk.{layer}.attn_{name}", rope_order(weight, heads[name]) if name in heads else weight
        yield f"blk.{layer}.attn_output", of("self_attn.o_proj")
        for name in ("gate", "up", "down"):
            yield f"blk.{layer}.ffn_{name}", of(f"mlp.{name}_proj")
        yield f"blk.{layer}.attn_norm", of("input_layernorm")
        yield f"blk.{layer}.ffn_norm", of("post_attention_layernorm")


def convert(setup, path, form):
    import gguf
    from safetensors.numpy import load_file

    config = json.loads((setup.checkpoint / "config.json").read_text())
    kind = gguf.GGMLQuantizationType[form]
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(config["max_position_embeddings"])
    writer.add_embedding_length(config["hidden_size"])
    writer.add_block_count(config["num_hidden_layers"])
    writer.add_feed_forward_length(config["intermediate_size"])
    writer.add_head_count(config["num_attention_heads"])
    writer.add_head_count_kv(config["num_key_value_heads"])
    writer.add_layer_norm_rms_eps(config["rms_norm_eps"])
    writer.add_rope_dimension_count(config["hidden_size"] // config["num_attention_heads"])
    writer.add_vocab_size(config["vocab_size"])
    writer.add_tokenizer_model("none")
    for name, array in tensors(load_file(setup.checkpoint / "model.safetensors"), config):
        if array.ndim == 2 and form != FLOAT32:
            writer.add_tensor(f"{name}.weight", gguf.quants.quantize(array, kind), raw_dtype=kind)
        else:
            writer.add_tensor(f"{name}.weight", array)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def load(setup, form=FLOAT32):
    import llama_cpp
    import numpy

    path = setup.cache / f"llama-cpp-{form}.gguf"
    if not path.exists():
        convert(setup, f"{path}.partial", form)
        os.rename(f"{path}.partial", path)
    llama_cpp.llama_backend_init()
    model = llama_cpp.llama_model_load_from_file(str(path).encode(), llama_cpp.llama_model_default_params())
    options = llama_cpp.llama_context_default_params()
    options.n_ctx = options.n_batch = options.n_ubatch = 512
    options.n_threads = options.n_threads_batch = setup.threads
    context = llama_cpp.llama_init_from_model(model, options)
    if not context:
        raise RuntimeError(f"llama.cpp cannot load {path}")
    words = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(model))

    def after(tokens):
        """The most probable token behind those so far and these."""
        array = (ctypes.c_int32 * len(tokens))(*tokens)  # the batch does not own it
        batch = llama_cpp.llama_batch_get_one(array, len(tokens))
        if llama_cpp.llama_decode(context, batch):
            raise RuntimeError("llama_decode failed")
        scores = llama_cpp.llama_get_logits_ith(context, -1)
        return int(numpy.ctypeslib.as_array(scores, (words,)).argmax())

    def prepare(inputs):
        prompt = [7919 * i % 30000 + 3 for i in range(int(inputs["length"]))]

        def run():
            llama_cpp.llama_memory_clear(llama_cpp.llama_get_memory(context), True)
            found = [after(prompt)]
            while len(found) < int(inputs["new_tokens"]):
                found.append(after(found[-1:]))
            return numpy.array(found)

        return run

    return prepare
