"""The instruction set of a run: the machine's own, or AVX2 for everyone on a machine with more."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent.parent


def system_compiler(variable: str, *names: str) -> str:
    """A compiler for the benchmark's own C and C++: what the environment variable says, or the first there is."""
    found = os.environ.get(variable) or next(filter(shutil.which, names), None)
    return found or sys.exit(f"error: none of {', '.join(names)} was found; set {variable}")


@dataclass(frozen=True)
class Isa:
    name: str
    arch: str  # for our compiler, TARGET or TARGET/CPU that it is scheduled for
    vector_bits: int  # that the machine's peak is measured with
    options: tuple[str, ...] = ()  # of our compiler, besides

    @property
    def march(self) -> str:
        """For other compilers."""
        return self.arch.split("/")[0]

    def environment(self, cache: Path) -> dict[str, str]:
        """What a peer's process needs besides; compiles avx2_only.c."""
        if self.name != "avx2":
            return {}
        library = cache / "avx2_only.so"
        compiler = system_compiler("CC", "gcc", "clang-22", "clang")
        flags = ["-O2", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, FOLDER / "avx2_only.c", "-o", library], check=True)
        # The inductor chooses by what /proc/cpuinfo says, unless it finds PyTorch's own switch.
        return {"LD_AUDIT": str(library), "LD_BIND_NOW": "1", "ATEN_CPU_CAPABILITY": "avx2"}

    def file_name(self, stem: str) -> str:
        """A file of one instruction set beside those of others."""
        return stem if self.name == "native" else f"{stem}-{self.name}"


ISAS = {isa.name: isa for isa in (Isa("native", "native", 512), Isa("avx2", "x86-64-v3/native", 256))}
# Of GPUs, by the name of the architecture; the rest of a benchmark takes them for one more instruction set.
GPUS = {name: Isa(name, name, 0, ("--target", "cuda")) for name in ("sm_80", "sm_90a")}
