"""Bad input for the compiler: configurations, .mlir files, options."""

import json
import os
import re
import shutil

from bad_suite import Suite, limit_file_size, small_disk, unwritable
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
    deep = "[" * 200_000 + "]" * 200_000
    suite.compile_text("deeply nested value", text.replace('"hidden_size": 20', f'"hidden_size": {deep}'), "64 levels")
    suite.compile_text("not text", "\x00\x01\x02")
    if suite.wanted("compile/missing config.json"):
        folder = suite.folder()
        suite.compile_path("missing config.json", folder, ("config.json",), folder)
    if suite.wanted("compile/missing path"):
        folder = suite.folder()
        suite.compile_path("missing path", folder / "nowhere", ("nowhere",), folder)


ENTRY = "attributes {transformer.entry}"
STATE = '{transformer.state = "s"}'
MLIR = {
    "bad mlir": ("func.func @forward( {\n", ()),
    "mlir without an entry": ("func.func private @f()\n", ("transformer.entry",)),
    "mlir entry without a body": (f"func.func private @f(%a: i32) -> i32 {ENTRY}\n", ("@f", "body")),
    "mlir entry of scalars": (
        f"func.func @f(%a: i32) -> i32 {ENTRY} {{ return %a : i32 }}\n",
        ("@f", "argument 0", "i32"),
    ),
    "mlir entry that returns an index": (
        f"func.func @f(%a: tensor<?xi64>) -> tensor<?xindex> {ENTRY} {{\n"
        "  %b = arith.index_cast %a : tensor<?xi64> to tensor<?xindex>\n  return %b : tensor<?xindex>\n}\n",
        ("@f", "result 0", "xindex"),
    ),
    "mlir entry of nine dimensions": (
        f"func.func @f(%a: tensor<1x1x1x1x1x1x1x1x1xf32>) -> tensor<1x1x1x1x1x1x1x1x1xf32> {ENTRY} {{\n"
        "  return %a : tensor<1x1x1x1x1x1x1x1x1xf32>\n}\n",
        ("@f", "argument 0", "rank 8"),
    ),
    "mlir state that is not returned": (
        f"func.func @f(%a: tensor<4xf32> {STATE}) -> tensor<4xf32> {ENTRY} {{ return %a : tensor<4xf32> }}\n",
        ('state "s"', "result", "found 0"),
    ),
    "mlir state of two open sizes": (
        f"func.func @f(%a: tensor<?x?xf32> {STATE}) -> (tensor<?x?xf32> {STATE}) {ENTRY} {{\n"
        "  return %a : tensor<?x?xf32>\n}\n",
        ('state "s"', "at most one dynamic size"),
    ),
    "mlir state that is read after its update": (
        f"func.func @f(%a: tensor<4xf32> {STATE}) -> (tensor<4xf32> {STATE}, tensor<4xf32>) {ENTRY} {{\n"
        "  %b = linalg.exp ins(%a : tensor<4xf32>) outs(%a : tensor<4xf32>) -> tensor<4xf32>\n"
        "  return %b, %a : tensor<4xf32>, tensor<4xf32>\n}\n",
        ('state "s" of @f', "read after the update"),
    ),
    "mlir state of two shapes": (
        f"func.func @f(%a: tensor<4xf32> {STATE}) -> (tensor<4xf32> {STATE}) {ENTRY} {{ return %a : tensor<4xf32> }}\n"
        f"func.func @g(%a: tensor<5xf32> {STATE}) -> (tensor<5xf32> {STATE}) {ENTRY} {{ return %a : tensor<5xf32> }}\n",
        ('state "s"', "another entry point"),
    ),
    "mlir entry that is no func.func": (f"llvm.func @f() {ENTRY}\n", (r"llvm\.func",)),
}


# What takes the parser of MLIR deeper with every repetition.
DEEP = 10_000
NESTED = {
    "lists": ("module attributes {test.a = " + "[" * DEEP, 1),
    "dictionaries": ("module attributes {test.a = " + "{a=" * DEEP, 1),
    "types": ("module attributes {test.a = " + "tuple<" * DEEP, 1),
    "locations": ("module {} loc(" + 'callsite("a" at ' * DEEP, 1),
    "regions": ('"test.a"() ({\n' * DEEP, 129),  # of two brackets each
    "modules": ("module {\n" * DEEP, 257),
    "strings and comments between": ('module { // {"{\n "a}}" }' * 2 + "module {\n" * DEEP, 259),
    "names": ("#a0 = [1]\n" + "".join(f"#a{i + 1} = [#a{i}]\n" for i in range(DEEP)), 257),
    "brackets in a map": ("#map = affine_map<(d0) -> (" + "(" * DEEP, 1),
    "signs in a map": ("#map = affine_map<(d0) -> (" + "-" * DEEP + "d0)>", 1),
    "sums in a set": ("#set = affine_set<(d0) : (" + "d0 mod 3 + " * DEEP + "d0 >= 0)>", 1),
}


def check_nested_mlir(suite: Suite) -> None:
    """Every tool that parses .mlir refuses what is nested too deep, and takes what is not."""
    tools = suite.compiler.parent
    commands = {
        "compile": lambda source, out: [suite.compiler, source, "-o", out],
        "opt": lambda source, out: [tools / "transformer-opt", "--allow-unregistered-dialect", source, "-o", out],
    }
    for kind, (text, line) in NESTED.items():
        for tool, command in commands.items():
            name = f"{tool}/nested {kind}"
            if suite.wanted(name):
                folder = suite.folder()
                (folder / "model.mlir").write_text(text)
                done = execute(command(folder / "model.mlir", folder / "out" / "program"))
                suite.expect_error(name, done, (rf'model\.mlir":{line}:', "levels|longer than"), folder)
    for tool, command in commands.items():
        if suite.wanted(f"{tool}/bytecode"):
            folder = suite.folder()
            (folder / "model.mlir").write_bytes(b"ML\xefR\x0d" + bytes(40))
            done = execute(command(folder / "model.mlir", folder / "out" / "program"))
            suite.expect_error(f"{tool}/bytecode", done, (r'model\.mlir":1:', "bytecode", "expected text"), folder)
    if suite.wanted("verify/nested lists"):
        folder = suite.folder()
        (folder / "model.mlir").write_text(NESTED["lists"][0])
        done = execute([tools / "transformer-verify", folder / "model.mlir", "--weights", folder, "--inputs", folder])
        reason = None if (done.code, done.stderr.count("\n")) == (2, 2) else f"exit code {done.code}: {done.stderr}"
        suite.report.add("verify/nested lists", reason)
    if suite.wanted("opt/200 levels are fine"):
        folder = suite.folder()
        (folder / "model.mlir").write_text("module {\n" * 200 + "}" * 200)
        done = execute(commands["opt"](folder / "model.mlir", folder / "out" / "model.mlir"))
        suite.report.add("opt/200 levels are fine", None if done.code == 0 else done.complaint())


def check_pipes(suite: Suite) -> None:
    """What nobody writes to is not waited for."""
    for name, file in {"pipe": "model.mlir", "pipe as config": "config.json"}.items():
        if suite.wanted(f"compile/{name}"):
            folder = suite.folder()
            os.mkfifo(folder / file)
            source = folder if file == "config.json" else folder / file
            suite.compile_path(name, source, (re.escape(file), "regular file|found something else"), folder)


def check_full_disks(suite: Suite) -> None:
    """Neither the output nor the linker's file fits: our message, not the linker's report of a crash."""
    for name, (kibibytes, is_output) in {"output": (256, True), "temporary files": (1024, False)}.items():
        name = f"compile/{name} on a full disk"
        if not suite.wanted(name):
            continue
        folder = suite.folder()
        with small_disk(folder / "disk", kibibytes) as disk:
            if not disk:
                print(f"SKIP: {name}: file systems cannot be mounted here")
                continue
            output = disk / "program" if is_output else folder / "out" / "program"
            environment = os.environ if is_output else os.environ | {"TMPDIR": str(disk)}
            done = execute([suite.compiler, suite.case, "-o", output], COMPILE_SECONDS, env=environment)
            suite.expect_error(name, done, (re.escape(str(output)), "no space left"), folder)
            left = sorted(path.name for path in disk.iterdir())
            suite.report.add(f"{name}: nothing left", f"left {left}" if left else None)
    if suite.wanted("compile/files of limited size"):
        folder = suite.folder()
        command = [suite.compiler, suite.case, "-o", folder / "out" / "program"]
        done = execute(command, COMPILE_SECONDS, preexec_fn=lambda: limit_file_size(1 << 20))
        suite.expect_error("compile/files of limited size", done, ("out/program", "too large|size limit"), folder)


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
    for option in ("--optimiser", "--o2", "-optimiser=adamw"):
        check(f"unknown option {option}", [option, "adamw"], rf"\Aerror: unknown option {option};")
    check("unknown target", ["--target", "abacus"], "target", "abacus")
    check("unknown arch", ["--arch", "no-such-arch"], "arch", "no-such-arch")
    check("unknown emit", ["--emit", "smoke"], "emit", "smoke")
    check("unknown weights-dtype", ["--weights-dtype", "f7"], "weights-dtype", "f7", "f32, bf16, f16, int8 or int4")
    check("unknown activations-dtype", ["--activations-dtype", "f7"], "activations-dtype", "f7", "f32, bf16, f16, tf32 or int8")
    check("activations-dtype of f32 weights", ["--activations-dtype", "int8"], "activations-dtype int8", "int8 or int4", "f32")
    bf16 = ["--activations-dtype", "bf16", "--weights-dtype", "bf16"]
    check("activations-dtype bf16 of int8 weights", [*bf16[:2], "--weights-dtype", "int8"], "activations-dtype bf16", "bf16", "int8")
    check("bf16 on a CPU without", [*bf16, "--arch", "x86-64-v3"], "--activations-dtype bf16", "x86-64-v3", "avx512bf16")
    mixed = ["--mixed-precision", "bf16"]
    check("f16 on a CPU", ["--activations-dtype", "f16", "--weights-dtype", "f16"], "--activations-dtype f16", "--target cuda")
    check("tf32 on a CPU", ["--activations-dtype", "tf32"], "--activations-dtype tf32", "--target cuda")
    check("tf32 of narrow weights", ["--activations-dtype", "tf32", "--weights-dtype", "bf16"], "--activations-dtype tf32", "f32", "bf16")
    check("weights of tf32", ["--weights-dtype", "tf32"], "--weights-dtype tf32", "f32, bf16, f16, int8 or int4")
    check("weights of f16 on a CPU", ["--weights-dtype", "f16"], "--weights-dtype f16", "on a CPU")
    check("mixed precision f16 on a CPU", ["--mode", "train", "--mixed-precision", "f16"], "--mixed-precision f16", "--target cuda")
    check("mixed precision on a CPU without", ["--mode", "train", *mixed, "--arch", "x86-64-v4"], "--mixed-precision bf16", "x86-64-v4", "avx512bf16")
    check("mixed precision without training", mixed, "--mixed-precision goes with --mode train")
    check("unknown mixed precision", ["--mode", "train", "--mixed-precision", "fp16"], "--mixed-precision fp16", "no, bf16, f16 or tf32")
    check("unknown optimizer", ["--mode", "train", "--optimizer", "lion"], "--optimizer lion", "adamw, sgd or adafactor")
    check("optimizer without training", ["--optimizer", "sgd"], "--optimizer goes with --mode train")
    check("frozen without training", ["--freeze", "*"], "--freeze goes with --mode train")
    check("adapters without training", ["--lora", "8"], "--lora goes with --mode train")
    check("rank of 0", ["--mode", "train", "--lora", "0", "--lora-targets", "query"], "expected a rank of 1 or more, found 0")
    check("targets without a rank", ["--lora-targets", "query"], "go with --lora")
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


CHECKS = (
    check_configs,
    check_config_files,
    check_mlir_files,
    check_nested_mlir,
    check_pipes,
    check_full_disks,
    check_missing_runtime,
    check_compile_options,
)
