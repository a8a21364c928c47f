"""lit configuration of transformer-mlir's tests."""
import os
import shutil

import lit.formats

config.name = "transformer-mlir"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["Inputs", "golden", "e2e", "lib"]
config.test_source_root = os.path.dirname(__file__)

config.environment["PATH"] = os.pathsep.join(
    [config.transformer_tools_dir, config.llvm_tools_dir, config.environment["PATH"]]
)
# Of sanitizers, and what test/emulator/assembler/ptxas reads.
for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "REAL_PTXAS", "TRANSFORMER_TEST_PROGRAMS"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
config.substitutions.append(("%source_root", config.transformer_source_root))
config.substitutions.append(("%build_root", config.transformer_build_root))
config.substitutions.append(("%mlir_include", config.mlir_include_dir))

# A test that needs a tool which this build leaves out says `REQUIRES: transformer-compile`.
for tool in os.listdir(config.transformer_tools_dir):
    config.available_features.add(tool)

# So do tests that need CUDA's assembler.
if shutil.which("ptxas") or os.access("/usr/local/cuda/bin/ptxas", os.X_OK):
    config.available_features.add("ptxas")

# What takes minutes says `REQUIRES: long_tests`: lit --param run_long_tests=true.
if lit_config.params.get("run_long_tests") == "true":
    config.available_features.add("long_tests")
