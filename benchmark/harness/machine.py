"""The limits of this machine, measured by machine.cpp beside what they judge."""

from __future__ import annotations

import os
import platform
import subprocess
from dataclasses import dataclass
from pathlib import Path

from harness.processes import run_json

SOURCE = Path(__file__).parent.parent / "machine.cpp"


@dataclass
class Limits:
    """The best of all measurements so far: other load only ever lowers them."""

    fma_gflops: float = 0.0
    read_gbs: float = 0.0
    vector_bits: int = 0

    def seconds(self, flops: float, bytes_read: float) -> float:
        """No program that computes and reads this much can be faster."""
        return max(flops / (self.fma_gflops * 1e9), bytes_read / (self.read_gbs * 1e9))


class Machine:
    def __init__(self, cache: Path) -> None:
        self.limits: dict[int, Limits] = {}
        self.program = cache / "machine"
        cache.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CXX", "g++")
        flags = ["-std=c++20", "-O3", "-ffp-contract=fast", "-pthread"]
        subprocess.run([compiler, *flags, SOURCE, "-o", self.program], check=True)

    def measure(self, threads: int) -> Limits:
        found = run_json(threads, [self.program, threads])
        best = self.limits.setdefault(threads, Limits())
        if found["fma_gflops"] > best.fma_gflops:
            best.fma_gflops, best.vector_bits = found["fma_gflops"], found["vector_bits"]
        best.read_gbs = max(best.read_gbs, found["read_gbs"])
        return best

    def describe(self) -> dict:
        cpu = platform.processor()
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                cpu = line.split(":", 1)[1].strip()
                break
        return {
            "cpu": cpu,
            "cores": os.cpu_count(),
            "load_before": round(os.getloadavg()[0], 2),
            "limits": {str(threads): vars(limits) for threads, limits in sorted(self.limits.items())},
        }
