"""Random losses: programs of the transformer dialect that end in cross-entropies of random rows.

They leave out what has no backward: a log-sum-exp, tables of rotary positions that depend on
parameters, and the first tokens of sequences.
"""

import random
import re
from pathlib import Path

import numpy as np
from random_programs import GRID, VOCABULARY, WIDTHS, Body, Program, Rows, Weight, add_inputs, add_layer
from safetensors.numpy import save_file

IGNORED = -100
SHARE_OF_LONG = 0.1  # of batches, which have sequences of more than one block of attention's backward


class LossBody(Body):
    owners = ("a", "a", "b")
    is_layer = True

    def parameter(self, shape: tuple[int, ...]) -> Weight:
        """In a layer an argument: the loss itself has to read what gets a gradient."""
        if not self.is_layer:
            return super().parameter(shape)
        self.arguments.append(Weight(self.name(), shape))
        self.weights.append(self.arguments[-1])
        return self.arguments[-1]

    def gives_log_sum_exp(self) -> bool:
        return False

    def rows_as_table(self, x: Rows, turned: int) -> None:
        return None

    def write_first_token(self) -> None:
        return

    def lookup_options(self) -> str:
        options = ["scale = 1.5 : f64"] if self.random.random() < 0.3 else []
        if self.random.random() < 0.3:
            options.append(f"padding_index = {self.random.choice((0, 1, VOCABULARY - 1))} : i64")
        return f" {{{', '.join(options)}}}" if options else ""

    def scores(self, x: Rows) -> Rows:
        """By a weight of their own, or by a table that ids are looked up in."""
        tables = [shape for shape in self.program.parameters.values() if len(shape) == 2 and shape[0] == VOCABULARY]
        if not tables or self.random.random() < 0.6:
            width = self.random.choice(WIDTHS[1:])
            weight, kind = self.parameter((width, x.width)), f"tensor<?x{width}xf32>"
            return self.add(x.of, width, f"transformer.linear {x.name}, {weight.name} out_in : {x.type}, {weight.type} -> {kind}")
        table = self.parameter(self.random.choice(tables))
        x, kind = self.of_width(x, table.shape[1]), f"tensor<?x{VOCABULARY}xf32>"
        return self.add(x.of, VOCABULARY, f"transformer.linear {x.name}, {table.name} out_in : {x.type}, {table.type} -> {kind}")

    def write_loss(self, number: int) -> tuple[str, str]:
        """The loss of some rows, and the argument of their labels."""
        rows = self.pick()
        if number == 0 or rows.width == 1 or self.random.random() < 0.5:
            rows = self.scores(rows)
        labels, length = f"%labels{number}", {"a": "sequence", "b": "target"}[rows.of]
        argument = (f'{labels}: {GRID} {{transformer.name = "labels{number}", transformer.range = array<i64: 0, {rows.width}>, '
                    f'transformer.ignored = {IGNORED} : i64, transformer.dims = ["batch", "{length}"]}}')
        if self.random.random() < 0.3:
            labels = self.emit(self.name(), f"transformer.shift_labels {labels} : {GRID}")
        packed = self.name()
        self.lines.append(f"  {packed}, {packed}_of = transformer.pack_tokens({labels}) mask(%mask_{rows.of}) : ({GRID}), {GRID} -> tensor<?xi64>")
        smoothing = f" {{label_smoothing = {self.random.choice((0.1, 0.5))} : f64}}" if self.random.random() < 0.4 else ""
        text = f"transformer.cross_entropy {rows.name}, {packed}{smoothing} : {rows.type}, tensor<?xi64> -> tensor<f32>"
        return self.emit(self.name(), text), argument


class EntryBody(LossBody):
    is_layer = False


def random_loss(seed: int, is_small: bool = False) -> Program:
    """The function @loss with its layers; one in four is large, unless all are to be small."""
    source = random.Random(seed)
    program = Program(source, is_large=source.random() < 0.25 and not is_small)
    for _ in range(source.randrange(4 if program.is_large else 2)):
        add_layer(program, LossBody)
    body = EntryBody(program)
    arguments = add_inputs(body)
    body.write_ops(source.randrange(3, 8) if program.is_large else source.randrange(3))
    for _ in range(2 * len(program.layers)):
        body.write_call()
    body.write_ops(source.randrange(1, 4))
    loss = None
    for number in range(source.choice((1, 1, 2, 3))):
        one, argument = body.write_loss(number)
        arguments.append(argument)
        op = source.choice(("addf", "subf", "mulf"))
        loss = body.emit(body.name(), f"arith.{op} {loss}, {one} : tensor<f32>") if loss else one
    program.functions.append(
        f'func.func @loss({", ".join(arguments)})\n    -> (tensor<f32> {{transformer.name = "loss"}}) attributes {{transformer.entry}} {{\n'
        + "\n".join(body.lines) + f"\n  return {loss} : tensor<f32>\n}}")
    return program


def weights_of(program: Program, seed: int) -> dict[str, np.ndarray]:
    """Near 1/sqrt(columns)."""
    generator = np.random.default_rng(seed)
    return {name: (generator.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 9)).astype(np.float32)
            for name, shape in program.parameters.items()}


def inputs_of(program: Program, seed: int, is_small: bool = False) -> dict[str, np.ndarray]:
    """One to four sequences a side, of which some are empty, or all; masks with holes; labels that do not count."""
    generator = np.random.default_rng(seed)
    inputs, batch = {}, int(generator.integers(1, 5))
    longest = 5 if is_small else 230 if generator.random() < SHARE_OF_LONG else 14
    for prefix in ("", "decoder_"):
        lengths = generator.integers(0 if generator.random() < 0.3 else 1, longest, batch)
        columns = max(int(lengths.max()), 1)
        mask = (np.arange(columns) < lengths[:, None]).astype(np.int64)
        if generator.random() < 0.2:
            mask *= generator.integers(0, 2, (batch, columns))
        # A difference knows of no padding_index.
        inputs[f"{prefix}input_ids"] = generator.integers(*((2, VOCABULARY - 1) if is_small else (0, VOCABULARY)), (batch, columns))
        inputs[f"{prefix}attention_mask"] = mask
    text = program.text()
    pattern = r'transformer.name = "(labels\d)", transformer.range = array<i64: 0, (\d+)>[^}]*"batch", "(\w+)"'
    for name, classes, length in re.findall(pattern, text):
        shape = inputs["input_ids" if length == "sequence" else "decoder_input_ids"].shape
        counts = generator.random(shape) < generator.choice((0.0, 0.6, 0.9, 1.0), p=(0.05, 0.4, 0.4, 0.15))
        inputs[name] = np.where(counts, generator.integers(0, int(classes), shape), IGNORED)
    return inputs
