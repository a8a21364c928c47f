"""FlashAttention, as PyTorch has it."""

from peers.gpu import attention


def load(setup):
    return attention.load(setup, "FLASH_ATTENTION")
