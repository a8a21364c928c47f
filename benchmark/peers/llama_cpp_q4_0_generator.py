"""llama.cpp with weights in 4 bits, blocks of 32."""

from functools import partial

from peers.llama_cpp_generator import load as load_as

load = partial(load_as, form="Q4_0")
