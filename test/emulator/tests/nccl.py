#!/usr/bin/env python3
"""The emulated NCCL: what processes give each other arrives, and what would hang, fail or be another message is
reported, each beside its correct twin."""

import argparse
import ctypes
import os
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[2] / "e2e"))
from harness import Report  # noqa: E402

FLOAT = 7
SIZE, COUNT = 3, 40_000  # of numbers, more than a piece of a message


class UniqueId(ctypes.Structure):
    _fields_ = (("name", ctypes.c_char * 128),)


class Process:
    """A rank with an emulated device."""

    def __init__(self, folder: Path, name: bytes, rank: int, gpu: int):
        self.cuda = ctypes.CDLL(str(folder / "libcuda.so.1"))
        self.nccl, self.rank = ctypes.CDLL(str(folder / "libnccl.so.2")), rank
        context, self.stream, self.communicator = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
        self.cuda.cuInit(0)
        self.cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), gpu)
        self.cuda.cuCtxSetCurrent(context)
        self.cuda.cuStreamCreate(ctypes.byref(self.stream), 1)
        self.nccl.ncclCommInitRank.argtypes = (ctypes.c_void_p, ctypes.c_int, UniqueId, ctypes.c_int)
        code = self.nccl.ncclCommInitRank(ctypes.byref(self.communicator), SIZE, UniqueId(name), rank)
        if code != 0:
            sys.exit(1)

    def numbers(self, values: list[float]) -> ctypes.c_uint64:
        address, host = ctypes.c_uint64(), (ctypes.c_float * len(values))(*values)
        self.cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(4 * len(values)))
        self.cuda.cuMemcpyHtoD_v2(address, host, ctypes.c_size_t(4 * len(values)))
        return address

    def read(self, address: ctypes.c_uint64, count: int) -> list[float]:
        host = (ctypes.c_float * count)()
        self.cuda.cuMemcpyDtoH_v2(host, address, ctypes.c_size_t(4 * count))
        return list(host)

    def point(self, call: str, address: ctypes.c_uint64, offset: int, count: int, peer: int) -> None:
        place = ctypes.c_void_p(address.value + 4 * offset)
        getattr(self.nccl, call)(place, ctypes.c_size_t(count), FLOAT, peer, self.communicator, self.stream)

    def wait(self) -> int:
        """The asynchronous error."""
        error = ctypes.c_int()
        self.cuda.cuStreamSynchronize(self.stream)
        self.nccl.ncclCommGetAsyncError(self.communicator, ctypes.byref(error))
        return error.value


def exchange(process: Process, grouped: bool, counts: tuple[int, ...]) -> bool:
    """Every rank gets rank * 10 + sender from each; a rank sends `counts` of its own."""
    others = [other for other in range(SIZE) if other != process.rank]
    sent = process.numbers([other * 10.0 + process.rank for other in range(SIZE) for _ in range(COUNT)])
    received = process.numbers([-1.0] * SIZE * COUNT)
    if grouped:
        process.nccl.ncclGroupStart()
    for other in others:
        process.point("ncclSend", sent, other * COUNT, counts[process.rank], other)
        process.point("ncclRecv", received, other * COUNT, COUNT, other)
    if grouped:
        process.nccl.ncclGroupEnd()
    if process.wait() != 0:
        return False
    found = process.read(received, SIZE * COUNT)
    expected = [-1.0 if other == process.rank else process.rank * 10.0 + other for other in range(SIZE) for _ in range(COUNT)]
    return found == expected


def gather(process: Process) -> bool:
    """In place."""
    all_of_them = process.numbers([float(process.rank)] * SIZE * COUNT)
    place = ctypes.c_void_p(all_of_them.value + 4 * COUNT * process.rank)
    arguments = (ctypes.c_void_p(all_of_them.value), ctypes.c_size_t(COUNT), FLOAT, process.communicator, process.stream)
    process.nccl.ncclAllGather(place, *arguments)
    before = process.read(all_of_them, SIZE * COUNT)
    if process.wait() != 0 or set(before) != {float(process.rank)}:  # the stream moves when somebody waits
        return False
    return process.read(all_of_them, SIZE * COUNT) == [float(rank) for rank in range(SIZE) for _ in range(COUNT)]


CASES = {
    "exchange": lambda process: exchange(process, True, (COUNT,) * SIZE),
    "gather": gather,
    "no group": lambda process: exchange(process, False, (COUNT,) * SIZE),
    "another count": lambda process: exchange(process, True, (COUNT, COUNT - 1, COUNT)),
}
# What ranks say that cannot go on, and which devices they have, if not one each.
FAULTS = {
    "no group": ("the other side does not come", range(SIZE)),
    "another count": (f"which sends {COUNT - 1} of type {FLOAT}", range(SIZE)),
    "the same GPU": ("ranks 0 and 2 have the same GPU", (0, 1, 0)),
    "nobody there": ("which does not join", (0, 1)),
}


def run(folder: Path, name: str, gpus: range | tuple[int, ...]) -> list[tuple[int, str]]:
    """Exit codes and stderr of the ranks."""
    nccl, unique = ctypes.CDLL(str(folder / "libnccl.so.2")), UniqueId()
    nccl.ncclGetUniqueId(ctypes.byref(unique))
    environment = {**os.environ, "EMULATED_DEVICES": str(SIZE), "EMULATED_NCCL_SECONDS": "60" if name not in FAULTS else "2"}
    ranks = []
    for rank, gpu in enumerate(gpus):
        command = [sys.executable, __file__, "--folder", folder, "--rank", rank, "--gpu", gpu, "--name", unique.name.decode(), name]
        ranks.append(subprocess.Popen([str(word) for word in command], env=environment, stderr=subprocess.PIPE, text=True))
    said = [rank.communicate()[1] for rank in ranks]
    Path(unique.name.decode()).unlink(missing_ok=True)  # where not all have joined
    return [(rank.returncode, text) for rank, text in zip(ranks, said, strict=True)]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--folder", type=Path, required=True, help="where the emulated libraries are")
    parser.add_argument("--rank", type=int, help="what a process of the test is told, as the next ones")
    parser.add_argument("--gpu", type=int)
    parser.add_argument("--name")
    parser.add_argument("case", nargs="?")
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.rank is not None:
        process = Process(folder, options.name.encode(), options.rank, options.gpu)
        return 0 if CASES.get(options.case, CASES["exchange"])(process) else 1
    report = Report()
    for name in ("exchange", "gather"):
        ranks = run(folder, name, range(SIZE))
        wrong = [f"rank {i}: exit code {code}: {said[:200]}" for i, (code, said) in enumerate(ranks) if code != 0]
        report.add(f"nccl: {name}", wrong[0] if wrong else None)
    for name, (words, gpus) in FAULTS.items():
        ranks = run(folder, name, gpus)
        found = any(code != 0 and words in said for code, said in ranks)
        report.add(f"nccl: {name}", None if found else f"nobody says {words!r}: {ranks}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
