"""Writes input_ids and attention_mask for rows of the given numbers of tokens, with holes.

usage: make_inputs.py FILE.safetensors VOCABULARY COLUMNS TOKENS...
"""

import json
import random
import struct
import sys

path, (vocabulary, columns, *lengths) = sys.argv[1], map(int, sys.argv[2:])
generator = random.Random(0)
ids, mask = [], []
for length in lengths:
    kept = set(generator.sample(range(columns), length))
    ids += [generator.randrange(vocabulary) for _ in range(columns)]
    mask += [int(column in kept) for column in range(columns)]
size = 8 * len(ids)
entry = {"dtype": "I64", "shape": [len(lengths), columns]}
header = {
    "input_ids": {**entry, "data_offsets": [0, size]},
    "attention_mask": {**entry, "data_offsets": [size, 2 * size]},
}
text = json.dumps(header).encode()
with open(path, "wb") as file:
    file.write(struct.pack("<Q", len(text)) + text + struct.pack(f"<{2 * len(ids)}q", *ids, *mask))
