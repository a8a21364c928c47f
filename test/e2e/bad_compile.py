"""Bad input for the compiler: configurations, .mlir files, options."""

import json
import shutil

from bad_suite import Suite, unwritable
from harness import COMPILE_SECONDS, execute

HUGE = 10**18


def check_configs(suite: Suite) -> None:
    check = suite.compile_config
    check("heads do not divide", {"num_attention_heads": 3}, "num_attention_heads", r"\b3\b", r"\b20\b")
    check("gpt2 heads do not divide", {"n_head": 7}, "n_head", r"\b7\b", r"\b15\b", case="gpt2-model")
    check("native heads do not divide", {"nhead": 7}, "nhead", r"\b7\b", r"\b15\b", case="transformer-sinusoidal")
    check("annotated heads do not divide", {"n_head": 4}, "n_head", r"\b4\b", r"\b15\b", case="annotated-unbiased")
    check("bert_pytorch heads do not divide", {"attn_heads": 4}, "attn_heads", r"\b4\b", r"\b15\b", case="bert-pytorch")
    sizes = ("hidden_size", "vocab_size", "num_attention_heads", "intermediate_size", "max_position_embeddings")
    for field in sizes:
        check(f"zero {field}", {field: 0}, field, r"\b0\b")
        check(f"negative {field}", {field: -8}, field, r"-8\b")
        check(f"absurd {field}", {field: HUGE}, field)
    check("absurd num_hidden_layers", {"num_hidden_layers": 10**12}, "num_hidden_layers")
    check("negative num_hidden_layers", {"num_hidden_layers": -1}, "num_hidden_layers", "-1")
    check("size beyond 64 bits", {"vocab_size": 10**30}, "vocab_size")
    check("absurd n_embd", {"n_embd": 3 * HUGE}, "n_embd", case="gpt2-model")
    check("size is text", {"hidden_size": "20"}, "hidden_size")
    check("size is a fraction", {"hidden_size": 20.5}, "hidden_size", r"20\.5")
    check("size is a list", {"hidden_size": [20]}, "hidden_size")
    check("eps is text", {"layer_norm_eps": "small"}, "layer_norm_eps")
    check("activation is a number", {"hidden_act": 3}, "hidden_act")
    check("unknown model_type", {"model_type": "no_such_model"}, "model_type", "no_such_model")
    check("missing model_type", {"model_type": None, "architectures": None}, "model_type")
    check("model_type is a number", {"model_type": 7}, "model_type")
    check("unknown activation", {"hidden_act": "no_such_act"}, "hidden_act", "no_such_act")
    check("unknown architecture", {"architectures": ["BertForTelepathy"]}, "architectures", "BertForTelepathy")
    check("architecture of another family", {"architectures": ["GPT2Model"]}, "architectures", "GPT2Model")
    check("architectures is text", {"architectures": "BertModel"}, "architectures")
    relative = {"position_embedding_type": "no_such_positions"}
    check("unknown positions", relative, "position_embedding_type", "no_such_positions")
    native = "transformer-sinusoidal"
    check("native unknown positions", relative, "position_embedding_type", "no_such_positions", case=native)
    check("native unknown activation", {"activation": "no_such_act"}, "activation", "no_such_act", case=native)
    check("native missing vocab_size", {"vocab_size": None}, "vocab_size", case=native)
    check("gpt2 unknown activation", {"activation_function": "no_such_act"}, "no_such_act", case="gpt2-model")
    annotated = "annotated-unbiased"
    for field in ("d_model", "n_head", "ffn_hidden", "n_layers", "enc_voc_size", "trg_pad_idx"):
        check(f"annotated missing {field}", {field: None}, field, case=annotated)
    check("annotated unknown layer_norm", {"layer_norm": "sideways"}, "layer_norm", "sideways", case=annotated)
    check("bert_pytorch missing vocab_size", {"vocab_size": None}, "vocab_size", case="bert-pytorch")


def check_config_files(suite: Suite) -> None:
    text = json.dumps(suite.config)
    suite.compile_text("truncated json", text[: len(text) // 2])
    suite.compile_text("empty file", "")
    suite.compile_text("not an object", "[1, 2, 3]")
    suite.compile_text("deeply nested", "[" * 200_000)
    suite.compile_text("not text", "\x00\x01\x02")
    if suite.wanted("compile/missing config.json"):
        folder = suite.folder()
        suite.compile_path("missing config.json", folder, ("config.json",), folder)
    if suite.wanted("compile/missing path"):
        folder = suite.folder()
        suite.compile_path("missing path", folder / "nowhere", ("nowhere",), folder)


ENTRY = "attributes {transformer.entry}"
MLIR = {
    "bad mlir": ("func.func @forward( {\n", ()),
    "mlir without an entry": ("func.func private @f()\n", ("transformer.entry",)),
    "mlir entry without a body": (f"func.func private @f(%a: i32) -> i32 {ENTRY}\n", ("@f", "body")),
    "mlir entry of scalars": (
        f"func.func @f(%a: i32) -> i32 {ENTRY} {{ return %a : i32 }}\n",
        ("@f", "argument 0", "i32"),
    ),
    "mlir entry that returns ids": (
        f"func.func @f(%a: tensor<?xi64>) -> tensor<?xi64> {ENTRY} {{ return %a : tensor<?xi64> }}\n",
        ("@f", "result 0", "xi64"),
    ),
    "mlir entry that is no func.func": (f"llvm.func @f() {ENTRY}\n", (r"llvm\.func",)),
}


def check_mlir_files(suite: Suite) -> None:
    for name, (text, words) in MLIR.items():
        if suite.wanted(f"compile/{name}"):
            folder = suite.folder()
            (folder / "model.mlir").write_text(text)
            suite.compile_path(name, folder / "model.mlir", (r"model\.mlir", *words), folder)


def check_missing_runtime(suite: Suite) -> None:
    """A compiler without the runtime libraries beside it."""
    for arch, words in {
        "native": (r"libtransformer_runtime_main\.a",),
        "aarch64": (r"aarch64/libtransformer_runtime_main\.a", "ninja -C build aarch64-runtime"),
    }.items():
        if suite.wanted(f"compile/no runtime for {arch}"):
            folder = suite.folder()
            (folder / "bin").mkdir()
            compiler = shutil.copy(suite.compiler, folder / "bin")
            done = execute([compiler, suite.case, "-o", folder / "out" / "program", "--arch", arch], COMPILE_SECONDS)
            suite.expect_error(f"compile/no runtime for {arch}", done, words, folder)


def check_compile_options(suite: Suite) -> None:
    check = suite.compile_options
    check("unknown option", ["--no-such-option"], "no-such-option")
    check("unknown target", ["--target", "abacus"], "target", "abacus")
    check("unknown arch", ["--arch", "no-such-arch"], "arch", "no-such-arch")
    check("unknown emit", ["--emit", "smoke"], "emit", "smoke")
    check("unknown weights-dtype", ["--weights-dtype", "f7"], "weights-dtype", "f7")
    check("no output given", [], "-o|output")
    check("option without a value", ["--arch"], "arch")
    check("weights into text", ["--emit", "dialect", "--embed-weights"], "embed-weights", "dialect")
    if suite.wanted("compile/no weights to embed"):
        folder = suite.folder()
        (folder / "config.json").write_text(json.dumps(suite.config))
        done = execute([suite.compiler, folder, "-o", folder / "out" / "program", "--embed-weights"], COMPILE_SECONDS)
        suite.expect_error("compile/no weights to embed", done, ("embed-weights", r"model\.safetensors"), folder)
    for name, path in unwritable(suite):
        if suite.wanted(f"compile/{name}"):
            folder = suite.folder()
            done = execute([suite.compiler, suite.case, "-o", path], COMPILE_SECONDS)
            suite.expect_error(f"compile/{name}", done, (path.name,), folder)


CHECKS = (check_configs, check_config_files, check_mlir_files, check_missing_runtime, check_compile_options)
