"""Random valid programs of the transformer dialect, with weights and inputs.

A program has two sides of tokens (`a`: input_ids, `b`: decoder_input_ids), layers that take rows,
sequences and weights and return up to three results of any kind, and one or two entry points. Rows
are known by whose they are: the tokens of a side, or one for each sequence ("batch").
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from safetensors.numpy import save_file

WIDTHS = (1, 3, 5, 8, 12, 16, 17, 24, 32, 40, 64)
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "quick_gelu", "tanh")
VOCABULARY = 60
SIDES = ("a", "b")
GRID = "tensor<?x?xi64>"


@dataclass(frozen=True)
class Rows:
    """A value `[rows, width]`."""

    name: str
    of: str  # a side, or "batch"
    width: int

    @property
    def type(self) -> str:
        return f"tensor<?x{self.width}xf32>"


@dataclass(frozen=True)
class Weight:
    name: str
    shape: tuple[int, ...]

    @property
    def type(self) -> str:
        return f"tensor<{'x'.join(map(str, self.shape))}xf32>"


@dataclass
class Layer:
    """A private function: what it takes (rows, sides' sequences, weights) and returns."""

    name: str
    arguments: list[Rows | Weight | str]
    results: list[Rows | Weight]


def type_of(value: Rows | Weight | str) -> str:
    return "!transformer.sequences" if isinstance(value, str) else value.type


@dataclass
class Program:
    random: random.Random
    is_large: bool
    parameters: dict[str, tuple[int, ...]] = field(default_factory=dict)
    layers: list[Layer] = field(default_factory=list)
    functions: list[str] = field(default_factory=list)
    entries: list[str] = field(default_factory=list)

    def text(self) -> str:
        declared = [f"transformer.parameter @{name} : {Weight(name, shape).type}" for name, shape in self.parameters.items()]
        return "\n".join([*declared, *self.functions]) + "\n"


class Body:
    """Writes the ops of one function."""

    owners = ("a", "a", "b", "batch")  # of rows that a layer takes

    def __init__(self, program: Program):
        self.program, self.random = program, program.random
        self.lines: list[str] = []
        self.rows: list[Rows] = []
        self.weights: list[Weight] = []
        self.sequences: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self.arguments: list[Rows | Weight | str] = []  # of a layer
        self.count = 0

    def name(self) -> str:
        self.count += 1
        return f"%v{self.count}"

    def emit(self, result: str, text: str) -> str:
        self.lines.append(f"  {result} = {text}")
        return result

    def add(self, of: str, width: int, text: str) -> Rows:
        self.rows.append(Rows(self.emit(self.name(), text), of, width))
        return self.rows[-1]

    # --- weights ---

    def parameter(self, shape: tuple[int, ...]) -> Weight:
        known = [name for name, other in self.program.parameters.items() if other == shape]
        if known and self.random.random() < 0.3:
            name = self.random.choice(known)
        else:
            name = f"p{len(self.program.parameters)}"
            self.program.parameters[name] = shape
        kind = Weight("", shape).type
        return Weight(self.emit(self.name(), f"transformer.get_parameter @{name} : {kind}"), shape)

    def weight(self, *shape: int) -> Weight:
        """A parameter, an argument, or what is computed of parameters."""
        kind, choice = Weight("", shape).type, self.random.random()
        there = [weight for weight in self.weights if weight.shape == shape]
        if there and choice < 0.6:
            return self.random.choice(there)
        if choice > 0.95:
            return Weight(self.emit(self.name(), f"arith.constant dense<{self.numbers(shape)}> : {kind}"), shape)
        if choice > 0.88:
            x, y = self.parameter(shape), self.parameter(shape)
            return Weight(self.emit(self.name(), f"arith.addf {x.name}, {y.name} : {kind}"), shape)
        if choice > 0.8 and shape[0] > 1:
            cut = self.random.randrange(1, shape[0])
            x, y = self.parameter((cut, *shape[1:])), self.parameter((shape[0] - cut, *shape[1:]))
            text = f"tensor.concat dim(0) {x.name}, {y.name} : ({x.type}, {y.type}) -> {kind}"
            return Weight(self.emit(self.name(), text), shape)
        return self.parameter(shape)

    def numbers(self, shape: tuple[int, ...]) -> str:
        """A constant's, all different: of equal features a norm has nothing but their rounding errors."""
        if not shape:
            return f"{self.random.uniform(-0.2, 0.2):.3f}"
        return "[" + ", ".join(self.numbers(shape[1:]) for _ in range(shape[0])) + "]"

    def flags(self, *names: str) -> str:
        return "".join(f", {name}" for name in names if self.random.random() < 0.3)

    # --- ops ---

    def linear(self, x: Rows, width: int) -> Rows:
        out_in = self.random.random() < 0.5
        w = self.weight(*((width, x.width) if out_in else (x.width, width)))
        bias = self.weight(width) if self.random.random() < 0.6 else None
        given = f" bias({bias.name} : {bias.type})" if bias else ""
        layout = "out_in" if out_in else "in_out"
        kind = f"tensor<?x{width}xf32>"
        return self.add(x.of, width, f"transformer.linear {x.name}, {w.name}{given} {layout} : {x.type}, {w.type} -> {kind}")

    def of_width(self, x: Rows, width: int) -> Rows:
        return x if x.width == width else self.linear(x, width)

    def pick(self, accept: Callable[[Rows], bool] = lambda rows: True) -> Rows | None:
        found = [rows for rows in self.rows if accept(rows)]
        return self.random.choice(found[-6:]) if found else None

    def write_linear(self) -> None:
        if x := self.pick():
            self.linear(x, self.random.choice(WIDTHS))

    def write_activation(self) -> None:
        if x := self.pick():
            self.add(x.of, x.width, f"transformer.activation {self.random.choice(ACTIVATIONS)} {x.name} : {x.type}")

    def write_layer_norm(self) -> None:
        if x := self.pick(lambda rows: rows.width >= 5):
            g, b = self.weight(x.width), self.weight(x.width)
            options = "norm<eps = 1.0e-5" + self.flags("unbiased", "eps_outside") + ">"
            self.add(x.of, x.width, f"transformer.layer_norm {x.name}, {g.name}, {b.name} {options} : {x.type}, {g.type}, {b.type} -> {x.type}")

    def write_rms_norm(self) -> None:
        if x := self.pick(lambda rows: rows.width >= 5):
            heads = self.random.choice([n for n in (1, 1, 2, 3, 4) if x.width % n == 0])
            g, of_heads = self.weight(x.width // heads), f" {{num_heads = {heads} : i64}}" if heads > 1 else ""
            self.add(x.of, x.width, f"transformer.rms_norm {x.name}, {g.name} norm<eps = 1.0e-5>{of_heads} : {x.type}, {g.type} -> {x.type}")

    def write_gate(self) -> None:
        x = self.pick()
        y = x and self.pick(lambda rows: (rows.of, rows.width) == (x.of, x.width))
        if x and y:
            gate = self.add(x.of, x.width, f"transformer.activation tanh {y.name} : {y.type}")
            self.add(x.of, x.width, f"arith.mulf {x.name}, {gate.name} : {x.type}")

    def write_residual(self) -> None:
        """A sum, whose norm often follows."""
        x = self.pick()
        y = x and self.pick(lambda rows: (rows.of, rows.width) == (x.of, x.width))
        if x and y:
            op = self.random.choice(("addf", "addf", "addf", "subf"))
            self.add(x.of, x.width, f"arith.{op} {x.name}, {y.name} : {x.type}")
            if self.random.random() < 0.5:
                self.random.choice((self.write_layer_norm, self.write_rms_norm))()

    def write_split(self) -> None:
        if x := self.pick(lambda rows: rows.width > 1):
            cut = self.random.randrange(1, x.width)
            parts = [Rows(self.name(), x.of, width) for width in (cut, x.width - cut)]
            self.lines.append(f"  {parts[0].name}, {parts[1].name} = transformer.split {x.name} : {x.type} -> {parts[0].type}, {parts[1].type}")
            self.rows += parts

    def heads(self) -> tuple[int, int, int]:
        """Heads, heads of keys and values, width of a head."""
        kv_heads = self.random.choice((1, 2, 3))
        return kv_heads * self.random.choice((1, 1, 2)), kv_heads, self.random.choice((1, 4, 8, 16, 20))

    def options(self) -> str:
        chosen = ["causal"] if self.random.random() < 0.4 else []
        if self.random.random() < 0.3:
            chosen.append(f"window = {self.random.choice((1, 2, 5, 9))}")
        return f" options<{', '.join(chosen)}>" if chosen else ""

    def position_bias(self, heads: int) -> Weight | None:
        if self.random.random() < 0.7:
            return None
        return self.weight(heads) if self.random.random() < 0.5 else self.weight(heads, self.random.choice((1, 3, 7, 31)))

    def gives_log_sum_exp(self) -> bool:
        return self.random.random() < 0.2

    def write_attention(self) -> None:
        x = self.pick(lambda rows: rows.of in self.sequences)
        m = self.pick(lambda rows: rows.of in self.sequences)
        if not x or not m:
            return
        heads, kv_heads, head = self.heads()
        q, k, v = self.of_width(x, heads * head), self.of_width(m, kv_heads * head), self.of_width(m, kv_heads * head)
        bias, options = self.position_bias(heads), self.options()
        text = f"transformer.attention {q.name}, {k.name}, {v.name} sequences({self.sequences[x.of]}, {self.sequences[m.of]})"
        if bias:
            text += f" position_bias({bias.name} : {bias.type})"
        text += f"{options} {{num_heads = {heads} : i64, scale = {self.random.uniform(0.1, 0.6):.3f} : f64"
        if heads != kv_heads:
            text += f", num_kv_heads = {kv_heads} : i64"
        text += f"}} : {q.type}, {k.type}, {v.type} -> {q.type}"
        # A query without any key has a log-sum-exp that nothing may be computed from.
        if self.gives_log_sum_exp() and (x.of == m.of or not options):
            made = [Rows(self.name(), x.of, width) for width in (q.width, heads)]
            self.lines.append(f"  {made[0].name}, {made[1].name} = {text}, {made[1].type}")
            self.rows += made
        else:
            self.add(x.of, q.width, text)

    def write_multi_head_attention(self) -> None:
        x = self.pick(lambda rows: rows.of in self.sequences)
        m = self.pick(lambda rows: rows.of in self.sequences)
        if not x or not m:
            return
        heads, kv_heads, head = self.heads()
        out_in = self.random.random() < 0.5
        sizes = [(heads * head, x.width), (kv_heads * head, m.width), (kv_heads * head, m.width), (x.width, heads * head)]
        types = [x.type, "!transformer.sequences"]
        text = f"transformer.multi_head_attention {x.name} sequences({self.sequences[x.of]})"
        if m is not x:
            text += f" memory({m.name}, {self.sequences[m.of]})"
            types += [m.type, "!transformer.sequences"]
        weights = [self.weight(*(size if out_in else reversed(size))) for size in sizes]
        text += f" weights({', '.join(w.name for w in weights)})"
        types += [w.type for w in weights]
        if self.random.random() < 0.5:
            biases = [self.weight(size[0]) for size in sizes]
            text += f" biases({', '.join(b.name for b in biases)})"
            types += [b.type for b in biases]
        if bias := self.position_bias(heads):
            text += f" position_bias({bias.name})"
            types.append(bias.type)
        kv = f", num_kv_heads = {kv_heads} : i64" if heads != kv_heads else ""
        text += f" {'out_in' if out_in else 'in_out'}{self.options()} {{num_heads = {heads} : i64{kv}}}"
        self.add(x.of, x.width, f"{text} : ({', '.join(types)}) -> {x.type}")

    def write_layer(self) -> None:
        """An encoder's or a decoder's layer."""
        x = self.pick(lambda rows: rows.of in self.sequences and rows.width in (8, 12, 16, 24, 32))
        m = x and self.pick(lambda rows: rows.of in self.sequences and rows.width == x.width)
        if not x or not m:
            return
        decodes = m is not x
        hidden, square = self.random.choice(WIDTHS), (x.width, x.width)
        types = [x.type, "!transformer.sequences"]

        def group(name: str, *shapes: tuple[int, ...]) -> str:
            weights = [self.weight(*shape) for shape in shapes]
            types.extend(weight.type for weight in weights)
            return f" {name}({', '.join(weight.name for weight in weights)})"

        text = f"transformer.{'decoder' if decodes else 'encoder'}_layer {self.random.choice(ACTIVATIONS)} {x.name} sequences({self.sequences[x.of]})"
        if decodes:
            types += [m.type, "!transformer.sequences"]
            text += f" memory({m.name}, {self.sequences[m.of]})"
            text += group("self_attention", *[square, square[:1]] * 4) + group("cross_attention", *[square, square[:1]] * 4)
        else:
            text += group("attention", *[square, square[:1]] * 4)
        text += group("ffn", (hidden, x.width), (hidden,), (x.width, hidden), square[:1])
        text += group("norms", *[square[:1]] * (6 if decodes else 4)) + f" norm<eps = 1.0e-5{self.flags('unbiased', 'eps_outside')}>"
        if not decodes:
            text += self.options()
        heads = self.random.choice([n for n in (1, 2, 4) if x.width % n == 0])
        first = ", norm_first" if self.random.random() < 0.5 else ""
        self.add(x.of, x.width, f"{text} {{num_heads = {heads} : i64{first}}} : ({', '.join(types)}) -> {x.type}")

    def rows_as_table(self, x: Rows, turned: int) -> Rows | None:
        return self.pick(lambda rows: (rows.of, rows.width) == (x.of, turned))

    def write_rotary(self) -> None:
        """Turned by a table of positions or by any rows that are as wide."""
        heads, _, head = self.heads()
        turned = 2 * self.random.randrange(1, head // 2 + 1) if head > 1 else 0
        x = self.pick()
        if not x or not turned:
            return
        table = self.rows_as_table(x, turned)
        if x.of in self.ids and (not table or self.random.random() < 0.7):
            given = ", ".join(f"{self.random.uniform(0, 1):.3f}" for _ in range(turned // 2))
            frequencies = f" frequencies [{given}] {{scale = 1.25 : f64}}" if self.random.random() < 0.3 else ""
            table = self.add(x.of, turned, f"transformer.rotary_table {self.ids[x.of]}{frequencies} : tensor<?xi64> -> tensor<?x{turned}xf32>")
        if table:
            x = self.of_width(x, heads * head)
            self.add(x.of, x.width, f"transformer.rotary_embedding {x.name}, {table.name} {{num_heads = {heads} : i64}} : {x.type}, {table.type}")

    def write_first_token(self) -> None:
        if x := self.pick(lambda rows: rows.of in self.sequences):
            self.add("batch", x.width, f"transformer.first_token {x.name}, {self.sequences[x.of]} : {x.type} -> {x.type}")

    def lookup_options(self) -> str:
        return " {scale = 1.5 : f64}" if self.random.random() < 0.3 else ""

    def write_embedding(self) -> None:
        if not self.ids:
            return
        side = self.random.choice(sorted(self.ids))
        width = self.random.choice(WIDTHS)
        if self.random.random() < 0.2:
            layout = self.random.choice(("interleaved", "halves"))
            text = f"transformer.sinusoidal_position {self.ids[side]} {layout} max_positions {VOCABULARY} : tensor<?xi64> -> tensor<?x{width}xf32>"
        else:
            table = self.parameter((VOCABULARY, width))
            text = f"transformer.embedding {self.ids[side]}, {table.name}{self.lookup_options()} : tensor<?xi64>, {table.type} -> tensor<?x{width}xf32>"
        self.add(side, width, text)

    def write_feed_forward(self) -> None:
        if x := self.pick():
            hidden, kind = self.random.choice(WIDTHS), self.random.choice(ACTIVATIONS)
            gated = self.random.random() < 0.3
            weights = [self.weight(hidden, x.width) for _ in range(2 if gated else 1)] + [self.weight(x.width, hidden)]
            names, types = ", ".join(w.name for w in weights), ", ".join(w.type for w in weights)
            self.add(x.of, x.width, f"transformer.feed_forward {kind} {x.name} weights({names}) out_in : ({x.type}, {types}) -> {x.type}")

    def write_call(self) -> None:
        if not self.program.layers:
            return
        layer = self.random.choice(self.program.layers)
        operands = []
        for argument in layer.arguments:
            if isinstance(argument, str):
                if argument not in self.sequences:
                    return
                operands.append(self.sequences[argument])
            elif isinstance(argument, Weight):
                operands.append(self.weight(*argument.shape).name)
            else:
                given = self.pick(lambda rows, of=argument.of: rows.of == of)
                if given is None:
                    return
                operands.append(self.of_width(given, argument.width).name)
        results = [self.name() for _ in layer.results]
        types = ", ".join(type_of(argument) for argument in layer.arguments)
        made = ", ".join(result.type for result in layer.results)
        self.emit(", ".join(results), f"call @{layer.name}({', '.join(operands)}) : ({types}) -> ({made})")
        for name, result in zip(results, layer.results):
            if isinstance(result, Rows):
                self.rows.append(Rows(name, result.of, result.width))
            else:
                self.weights.append(Weight(name, result.shape))

    def write_ops(self, count: int) -> None:
        ops = (self.write_linear, self.write_linear, self.write_activation, self.write_gate, self.write_layer_norm, self.write_rms_norm,
               self.write_residual, self.write_residual, self.write_split, self.write_attention, self.write_attention,
               self.write_multi_head_attention, self.write_layer, self.write_rotary, self.write_first_token, self.write_embedding,
               self.write_feed_forward, self.write_call, self.write_call)
        for _ in range(count):
            self.random.choice(ops)()


def add_layer(program: Program, make_body: type[Body] = Body) -> None:
    body, pick = make_body(program), program.random
    arguments = body.arguments
    for i in range(pick.randrange(1, 4)):
        arguments.append(Rows(f"%x{i}", pick.choice(body.owners), pick.choice(WIDTHS)))
    arguments += [side for side in SIDES if pick.random() < 0.6]
    arguments += [Weight(f"%w{i}", (pick.choice(WIDTHS), pick.choice(WIDTHS))) for i in range(pick.randrange(3))]
    arguments += [Weight(f"%b{i}", (pick.choice(WIDTHS),)) for i in range(pick.randrange(2))]
    pick.shuffle(arguments)
    for argument in arguments:
        if isinstance(argument, str):
            body.sequences[argument] = f"%s_{argument}"
        else:
            (body.rows if isinstance(argument, Rows) else body.weights).append(argument)
    body.write_ops(pick.randrange(1, 7 if program.is_large else 4))
    results: list[Rows | Weight] = [pick.choice(body.rows[-3:])]
    while len(results) < 3 and pick.random() < 0.3:
        results.append(pick.choice([*body.rows, *body.weights]))
    layer = Layer(f"layer_{len(program.layers)}", arguments, results)
    header = [f"{body.sequences[a] if isinstance(a, str) else a.name}: {type_of(a)}" for a in arguments]
    types = ", ".join(result.type for result in results)
    names = ", ".join(result.name for result in results)
    visibility = "" if pick.random() < 0.1 else "private "
    program.functions.append(
        f"func.func {visibility}@{layer.name}({', '.join(header)}) -> ({types}) {{\n"
        + "\n".join(body.lines) + f"\n  return {names} : {types}\n}}")
    program.layers.append(layer)


def add_inputs(body: Body) -> list[str]:
    """The ids and masks of both sides, as arguments of an entry, packed and looked up."""
    arguments = []
    for side, prefix, length in (("a", "", "sequence"), ("b", "decoder_", "target")):
        dims = f'transformer.dims = ["batch", "{length}"]'
        arguments.append(f'%ids_{side}: {GRID} {{transformer.name = "{prefix}input_ids", transformer.range = array<i64: 0, {VOCABULARY}>, {dims}}}')
        arguments.append(f'%mask_{side}: {GRID} {{transformer.name = "{prefix}attention_mask", transformer.default = #transformer.default<ones>, {dims}}}')
        body.lines.append(f"  %i_{side}, %s_{side} = transformer.pack_tokens(%ids_{side}) mask(%mask_{side}) : ({GRID}), {GRID} -> tensor<?xi64>")
        body.ids[side], body.sequences[side] = f"%i_{side}", f"%s_{side}"
        body.write_embedding()
    return arguments


def add_entry(program: Program, name: str) -> None:
    body, pick = Body(program), program.random
    arguments = add_inputs(body)
    body.write_ops(pick.randrange(4, 12) if program.is_large else pick.randrange(1, 5))
    outputs = []
    for i, rows in enumerate(pick.sample(body.rows, min(len(body.rows), pick.randrange(1, 4)))):
        length = {"a": "sequence", "b": "target"}.get(rows.of)
        if length is None:
            outputs.append((rows.name, rows.type, '["batch"]', i))
            continue
        column = f" {{column = {pick.randrange(rows.width)} : i64}}" if pick.random() < 0.2 else ""
        kind = "tensor<?x?xf32>" if column else f"tensor<?x?x{rows.width}xf32>"
        padded = body.emit(body.name(), f"transformer.unpack_tokens {rows.name}, {body.sequences[rows.of]}{column} : {rows.type} -> {kind}")
        outputs.append((padded, kind, f'["batch", "{length}"]', i))
    results = ", ".join(f'{kind} {{transformer.name = "y{i}", transformer.dims = {dims}}}' for _, kind, dims, i in outputs)
    names, types = ", ".join(o[0] for o in outputs), ", ".join(o[1] for o in outputs)
    program.functions.append(
        f"func.func @{name}({', '.join(arguments)})\n    -> ({results}) attributes {{transformer.entry}} {{\n"
        + "\n".join(body.lines) + f"\n  return {names} : {types}\n}}")
    program.entries.append(name)


def random_program(seed: int) -> Program:
    """One in four is large: what it takes to compile goes with its size."""
    source = random.Random(seed)
    program = Program(source, is_large=source.random() < 0.25)
    for _ in range(program.random.randrange(4 if program.is_large else 2)):
        add_layer(program)
    add_entry(program, "forward")
    if program.random.random() < 0.3:
        add_entry(program, "other")
    return program


def write_data(program: Program, seed: int, folder: Path) -> None:
    """Weights near 1/sqrt(columns); one to four sequences a side, some masks with holes."""
    generator = np.random.default_rng(seed)
    weights = {name: (generator.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 9)).astype(np.float32)
               for name, shape in program.parameters.items()}
    save_file(weights, folder / "model.safetensors")
    inputs, batch = {}, int(generator.integers(1, 5))
    for prefix in ("", "decoder_"):
        lengths = generator.integers(1, 14, batch)
        columns = int(lengths.max())
        mask = (np.arange(columns) < lengths[:, None]).astype(np.int64)
        if generator.random() < 0.2:
            mask[:, 1:] *= generator.integers(0, 2, (batch, columns - 1))
        inputs[f"{prefix}input_ids"] = generator.integers(0, VOCABULARY, (batch, columns))
        inputs[f"{prefix}attention_mask"] = mask
    save_file(inputs, folder / "inputs.safetensors")
