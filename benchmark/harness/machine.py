"""The limits of this machine, measured by machine.cpp beside what they judge."""

from __future__ import annotations

import os
import platform
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from harness.isa import Isa, system_compiler
from harness.processes import run_json

SOURCE = Path(__file__).parent.parent / "machine.cpp"
DISTURBED = 0.9  # share of the best peak so far, below which something else must have run


def busy_share(seconds: float) -> float:
    """The share of all cores that is at work, or taken by the hypervisor, during so many seconds."""

    def now() -> tuple[int, int]:
        user, nice, system, idle, wait, *more = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
        return user + nice + system + sum(more[:3]), idle + wait

    busy, idle = now()
    time.sleep(seconds)
    busy, idle = (after - before for after, before in zip(now(), (busy, idle)))
    return busy / max(1, busy + idle)


@dataclass
class Limits:
    """The best of all measurements so far: other load only ever lowers them."""

    fma_gflops: float = 0.0
    pairs_gflops: float = 0.0
    read_gbs: float = 0.0
    vector_bits: int = 0
    last_gflops: float = 0.0

    def is_disturbed(self) -> bool:
        """Whether the latest measurement shows that something else runs."""
        return self.last_gflops < DISTURBED * self.fma_gflops

    def seconds(self, flops: float, bytes_read: float) -> float:
        """No program that computes and reads this much can be faster."""
        return max(flops / (self.pairs_gflops * 1e9), bytes_read / (self.read_gbs * 1e9))


class Machine:
    def __init__(self, cache: Path) -> None:
        self.limits: dict[tuple[int, str], Limits] = {}
        self.program = cache / "machine"
        cache.mkdir(parents=True, exist_ok=True)
        if self.program.exists() and self.program.stat().st_mtime > SOURCE.stat().st_mtime:
            return
        compiler = system_compiler("CXX", "g++", "clang++-22", "clang++")
        flags = ["-std=c++20", "-O3", "-ffp-contract=fast", "-pthread"]
        subprocess.run([compiler, *flags, SOURCE, "-o", self.program], check=True)

    def measure(self, threads: int, isa: Isa) -> Limits:
        found = run_json(threads, [self.program, threads, isa.vector_bits])
        best = self.limits.setdefault((threads, isa.name), Limits())
        if found["fma_gflops"] > best.fma_gflops:
            best.fma_gflops, best.vector_bits = found["fma_gflops"], found["vector_bits"]
        best.pairs_gflops = max(best.pairs_gflops, found["pairs_gflops"])
        best.last_gflops = found["fma_gflops"]
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
            "limits": [
                {"threads": threads, "isa": isa} | vars(limits) for (threads, isa), limits in self.limits.items()
            ],
        }
