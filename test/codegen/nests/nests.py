"""Builds MLIR text with loop nests of kernels into a shared library that numpy
arrays can be passed to. Needs transformer-opt (environment TRANSFORMER_OPT) and
LLVM's tools (environment LLVM_BIN)."""
import ctypes
import os
import re
import subprocess
import tempfile
import threading

import numpy as np

LLVM = os.environ.get("LLVM_BIN", "/usr/lib/llvm-22/bin")
OPT = os.environ.get("TRANSFORMER_OPT", "transformer-opt")
# Other kernels than the CPU's.
EMIT = os.environ.get("NESTS_EMIT", "--transformer-cpu-set-target=arch={arch} --transformer-cpu-emit-nests").split()
# What upstream's tools do not know: registers of matrices.
LOWER_OWN = ["--transformer-cpu-lower-matrices"]
# An option for other drivers: what turns scf.forall into something that runs.
FORALL = os.environ.get("NESTS_FORALL", "--scf-forall-to-for --canonicalize").split()
LINK = os.environ.get("NESTS_LINK", "").split()
LOWER = [
    "--canonicalize", "--cse", "--loop-invariant-code-motion", "--convert-scf-to-cf",
    "--expand-strided-metadata", "--lower-affine", "--arith-expand", "--convert-vector-to-llvm",
    "--convert-math-to-llvm", "--convert-math-to-libm", "--convert-arith-to-llvm",
    "--convert-index-to-llvm", "--finalize-memref-to-llvm", "--convert-func-to-llvm",
    "--convert-cf-to-llvm", "--convert-ub-to-llvm", "--reconcile-unrealized-casts",
]


def run(command, text):
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr[:4000]}")
    return done.stdout


def emit(text, arch, *options):
    text = run([OPT, *(option.format(arch=arch) for option in EMIT), *options], text)
    return re.sub(r"attributes {transformer.target = .*} {", "{", text)  # not upstream's


def vector_lanes(arch):
    """f32 lanes of the target's vectors."""
    rows = "memref<?x64xf32>"
    text = f"""func.func @f(%x: {rows}, %i: memref<?xindex>, %y: {rows}) {{
      transformer_kernel.first_token ins(%x, %i) outs(%y) : ({rows}, memref<?xindex>, {rows}) -> ()
      return
    }}"""
    vector = re.search(r"vector<(\d+)xf32>", emit(text, arch))
    return int(vector[1]) if vector else 4  # kernels of scalars


def build(text, arch):
    """The functions of `text` as a ctypes library, compiled for `arch`."""
    folder = tempfile.mkdtemp(prefix="nests")
    text = emit(text, arch, *FORALL, *LOWER_OWN)
    text = run([f"{LLVM}/mlir-opt", *LOWER], text)
    text = run([f"{LLVM}/mlir-translate", "--mlir-to-llvmir"], text)
    source, library = f"{folder}/k.ll", f"{folder}/k.so"
    with open(source, "w") as file:
        file.write(text)
    run([f"{LLVM}/clang", "-O3", f"-march={arch}", "-mprefer-vector-width=512", "-fno-vectorize",
         "-fno-slp-vectorize", "-fno-unroll-loops", "-ffp-contract=off", "-shared", "-fPIC",
         "-Wno-override-module", source, *LINK, "-lm", "-o", library], "")
    return ctypes.CDLL(library)


def allows_matrices():
    """Whether this CPU has AMX and the system lets this process use it, which it must be asked for."""
    arch_prctl, request_permission, tile_data = 158, 0x1023, 18
    flags = open("/proc/cpuinfo").read().split()
    return "amx_bf16" in flags and ctypes.CDLL(None).syscall(arch_prctl, request_permission, tile_data) == 0


def call(function, *arguments):
    """Calls with arrays as memref descriptors (strides kept) and floats as f32;
    on a thread with a large stack, since here the loop bodies' buffers pile up."""
    types, values = [], []
    for argument in arguments:
        if isinstance(argument, np.ndarray):
            base = argument.ctypes.data
            types += [ctypes.c_void_p] * 2 + [ctypes.c_long] * (1 + 2 * argument.ndim)
            values += [base, base, 0, *argument.shape,
                       *(s // argument.itemsize for s in argument.strides)]
        else:
            types.append(ctypes.c_float)
            values.append(float(argument))
    function.argtypes, function.restype = types, ctypes.c_long
    result = []
    threading.stack_size(512 << 20)
    thread = threading.Thread(target=lambda: result.append(function(*values)))
    thread.start()
    thread.join()
    return result[0]


def ulps(got, exact):
    """The largest error in units of the exact result's last place."""
    exact = np.asarray(exact, np.float64)
    unit = np.spacing(np.maximum(np.abs(exact), 2.0**-126).astype(np.float32)).astype(np.float64)
    return float((np.abs(got.astype(np.float64) - exact) / unit).max())
