"""Losses that hold each op with a backward to odd sizes: widths, heads, lengths of sequences, labels.

Rows are lookups in a table of their own with another id for each token, so that the table's gradient is theirs. A case's
name is that of a function here; parameters are named after what they are for.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from compare import Loss

GRID, IDS, SCALAR = "tensor<?x?xi64>", "tensor<?xi64>", "tensor<f32>"
CLASSES, IGNORED = 7, -100
# Of sequences, with queries that have no keys and keys that have no queries.
SHORT = {"a": (5, 0, 1, 8, 2), "b": (3, 2, 1, 9, 0)}  # for differences
LONG = {"a": (97, 0, 1, 193, 5), "b": (193, 2, 1, 97, 0)}  # attention's backward has blocks of 96
ACTIVATIONS = ("relu", "gelu", "gelu_tanh", "silu", "quick_gelu", "tanh")


@dataclass
class Value:
    name: str
    type: str
    side: str = ""  # of rows


@dataclass
class Case:
    """Writes @loss."""

    lengths: dict[str, tuple[int, ...]]

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(1)
        self.count, self.sum = 0, None
        self.parameters: dict[str, tuple[int, ...]] = {}
        self.functions: list[str] = []
        self.arguments: list[str] = []
        self.lines: list[str] = []
        self.inputs: dict[str, np.ndarray] = {}
        for side, lengths in self.lengths.items():
            columns = max(lengths)
            mask = np.arange(columns) < np.array(lengths)[:, None]
            mask = mask.astype(np.int64) if side == "a" else mask[:, ::-1].astype(np.int64)  # padded on the right and on the left
            ids = np.zeros(mask.shape, np.int64)
            ids[mask == 1] = self.random.permutation(sum(lengths))
            for what, values, range in (("ids", ids, f", transformer.range = array<i64: 0, {sum(lengths)}>"), ("mask", mask, "")):
                self.take(f"{what}_{side}", values, side, range)
            self.lines.append(f"  %{side}, %seq_{side} = transformer.pack_tokens(%ids_{side}) mask(%mask_{side}) : ({GRID}), {GRID} -> {IDS}")

    def take(self, name: str, values: np.ndarray, side: str, options: str) -> None:
        self.inputs[name] = values
        self.arguments.append(f'%{name}: {GRID} {{transformer.name = "{name}"{options}, transformer.dims = ["batch", "length_{side}"]}}')

    def emit(self, text: str, type: str, side: str = "") -> Value:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {text}")
        return Value(f"%v{self.count}", type, side)

    def parameter(self, name: str, *shape: int) -> Value:
        self.parameters[name] = shape
        kind = f"tensor<{'x'.join(map(str, shape))}xf32>"
        return self.emit(f"transformer.get_parameter @{name} : {kind}", kind)

    def rows(self, name: str, width: int, side: str = "a") -> Value:
        table = self.parameter(name, sum(self.lengths[side]), width)
        return self.look_up(table, width, side)

    def look_up(self, table: Value, width: int, side: str, options: str = "") -> Value:
        kind = f"tensor<?x{width}xf32>"
        return self.emit(f"transformer.embedding %{side}, {table.name}{options} : {IDS}, {table.type} -> {kind}", kind, side)

    def op(self, text: str, like: Value) -> Value:
        return self.emit(text, like.type, like.side)

    def labels(self, side: str, classes: int, counted: float = 0.8) -> Value:
        shape, name = self.inputs[f"ids_{side}"].shape, f"labels{len(self.inputs)}"
        values = np.where(self.random.random(shape) < counted, self.random.integers(0, classes, shape), IGNORED)
        self.take(name, values, side, f", transformer.range = array<i64: 0, {classes}>, transformer.ignored = {IGNORED} : i64")
        return Value(f"%{name}", GRID)

    def lose(self, rows: Value, labels: Value, options: str = "") -> None:
        self.count += 1
        ids = f"%l{self.count}"
        self.lines.append(f"  {ids}, {ids}_of = transformer.pack_tokens({labels.name}) mask(%mask_{rows.side}) : ({GRID}), {GRID} -> {IDS}")
        self.add_loss(self.emit(f"transformer.cross_entropy {rows.name}, {ids}{options} : {rows.type}, {IDS} -> {SCALAR}", SCALAR))

    def add_loss(self, loss: Value) -> None:
        self.sum = self.emit(f"arith.addf {self.sum.name}, {loss.name} : {SCALAR}", SCALAR) if self.sum else loss

    def lose_by(self, rows: Value) -> None:
        """By a loss of their own, so that no error hides behind another's; one column needs others beside it."""
        width = int(rows.type.split("x")[1])
        if width == 1:
            head, width, kind = self.parameter(f"head{self.count}", CLASSES, 1), CLASSES, f"tensor<?x{CLASSES}xf32>"
            rows = self.emit(f"transformer.linear {rows.name}, {head.name} out_in : {rows.type}, {head.type} -> {kind}", kind, rows.side)
        self.lose(rows, self.labels(rows.side, width))

    def loss(self) -> Loss:
        declared = [f"transformer.parameter @{name} : tensor<{'x'.join(map(str, shape))}xf32>" for name, shape in self.parameters.items()]
        header = f'func.func @loss({", ".join(self.arguments)}) -> ({SCALAR} {{transformer.name = "loss"}}) attributes {{transformer.entry}} {{'
        text = "\n".join([*declared, *self.functions, header, *self.lines, f"  return {self.sum.name} : {SCALAR}", "}"]) + "\n"
        weights = {name: (self.random.standard_normal(shape) / np.sqrt(shape[-1] if len(shape) > 1 else 1)).astype(np.float32)
                   for name, shape in self.parameters.items()}
        return Loss(text, weights, self.inputs)


def linear(case: Case) -> None:
    for inputs, outputs, layout in ((1, 1, "out_in"), (1, 17, "in_out"), (3, 5, "out_in"), (17, 1, "in_out"), (24, 40, "in_out"),
                                    (40, 24, "out_in"), (97, 33, "out_in"), (33, 97, "in_out")):
        name = f"{layout}_{inputs}_{outputs}"
        x, bias = case.rows(name, inputs), case.parameter(f"{name}_bias", outputs)
        w = case.parameter(f"{name}_weight", *((outputs, inputs) if layout == "out_in" else (inputs, outputs)))
        given = f" bias({bias.name} : {bias.type})" if inputs != 24 else ""
        kind = f"tensor<?x{outputs}xf32>"
        case.lose_by(case.emit(f"transformer.linear {x.name}, {w.name}{given} {layout} : {x.type}, {w.type} -> {kind}", kind, "a"))


def head(case: Case) -> None:
    """Scores of more classes than their rows have features, with biases and smoothing, and of one table twice."""
    for inputs, classes, layout, smoothing in ((1, 2, "out_in", 0), (5, 33, "in_out", 0.1), (40, 97, "out_in", 0)):
        name = f"{layout}_{inputs}_{classes}"
        x, bias = case.rows(name, inputs), case.parameter(f"{name}_bias", classes)
        w = case.parameter(f"{name}_weight", *((classes, inputs) if layout == "out_in" else (inputs, classes)))
        given, kind = f" bias({bias.name} : {bias.type})" if inputs != 40 else "", f"tensor<?x{classes}xf32>"
        rows = [x, case.op(f"transformer.activation tanh {x.name} : {x.type}", x)]
        for y in rows[: 2 if inputs == 40 else 1]:
            scores = case.emit(f"transformer.linear {y.name}, {w.name}{given} {layout} : {y.type}, {w.type} -> {kind}", kind, "a")
            case.lose(scores, case.labels("a", classes), f" {{label_smoothing = {smoothing} : f64}}" if smoothing else "")


def long_head(case: Case) -> None:
    """So many classes that sums over them, the gradients of rows, are in parts on CPUs."""
    x, w = case.rows("x", 5), case.parameter("weight", 9000, 5)
    scores = case.emit(f"transformer.linear {x.name}, {w.name} out_in : {x.type}, {w.type} -> tensor<?x9000xf32>", "tensor<?x9000xf32>", "a")
    case.lose(scores, case.labels("a", 9000))


def layer_norm(case: Case) -> None:
    for width, form in ((1, ""), (17, ""), (97, ""), (2, "unbiased"), (40, "unbiased"), (3, "eps_outside"), (24, "eps_outside"),
                        (17, "unbiased, eps_outside")):
        name = f"{form.replace(', ', '_') or 'plain'}_{width}"
        x, gamma, beta = case.rows(name, width), case.parameter(f"{name}_gamma", width), case.parameter(f"{name}_beta", width)
        norm = f"norm<eps = 1.0e-2{', ' + form if form else ''}>"
        case.lose_by(case.op(f"transformer.layer_norm {x.name}, {gamma.name}, {beta.name} {norm} : {x.type}, {gamma.type}, {beta.type} -> {x.type}", x))


def rms_norm(case: Case) -> None:
    for width, heads in ((1, 1), (5, 1), (40, 1), (97, 1), (6, 6), (34, 2), (72, 3)):
        name = f"rows_{width}_{heads}"
        x, gamma = case.rows(name, width), case.parameter(f"{name}_gamma", width // heads)
        y = case.op(f"transformer.rms_norm {x.name}, {gamma.name} norm<eps = 1.0e-2> {{num_heads = {heads} : i64}} : {x.type}, {gamma.type} -> {x.type}", x)
        case.lose_by(y)


def pre_norm(case: Case) -> None:
    """A residual beside a norm, whose gradient is added to that of the residual."""
    for width in (1, 17, 40):
        x, gamma, beta = case.rows(f"x_{width}", width), case.parameter(f"gamma_{width}", width), case.parameter(f"beta_{width}", width)
        y = case.op(f"transformer.layer_norm {x.name}, {gamma.name}, {beta.name} norm<eps = 1.0e-2> : {x.type}, {gamma.type}, {beta.type} -> {x.type}", x)
        s = case.op(f"arith.addf {x.name}, {y.name} : {x.type}", x)
        z = case.op(f"transformer.rms_norm {s.name}, {gamma.name} norm<eps = 1.0e-2> : {x.type}, {gamma.type} -> {x.type}", x)
        case.lose_by(case.op(f"arith.addf {z.name}, {s.name} : {x.type}", x))


def activation(case: Case) -> None:
    """Also of numbers so large that the derivative is 0 or 1."""
    for kind, width in zip(ACTIVATIONS, (1, 3, 17, 24, 40, 97)):
        x = case.rows(kind, width)
        for _ in range(3):
            x = case.op(f"arith.addf {x.name}, {x.name} : {x.type}", x)
        case.lose_by(case.op(f"transformer.activation {kind} {x.name} : {x.type}", x))


def elementwise(case: Case) -> None:
    """Sums, differences and products, of a value with itself too; columns, of which nobody reads some."""
    for width in (3, 40):
        x, y = case.rows(f"x_{width}", width), case.rows(f"y_{width}", width)
        z = case.op(f"arith.mulf {x.name}, {y.name} : {x.type}", x)
        z = case.op(f"arith.subf {z.name}, {y.name} : {x.type}", x)
        z = case.op(f"arith.mulf {z.name}, {z.name} : {x.type}", x)
        z = case.op(f"arith.subf {x.name}, {z.name} : {x.type}", x)
        z = case.op(f"arith.addf {z.name}, {x.name} : {x.type}", x)
        case.lose_by(z)
        kinds = [f"tensor<?x{part}xf32>" for part in (1, width - 2, 1)]
        case.lines.append(f"  %p{width}:3 = transformer.split {z.name} : {z.type} -> {', '.join(kinds)}")
        case.lose_by(Value(f"%p{width}#1", kinds[1], "a"))


def embedding(case: Case) -> None:
    """Ids that come again, a row that gets no gradient, a factor; the table as the head."""
    case.inputs["ids_a"] %= 5
    for width, options in ((1, ""), (5, " {padding_index = 2 : i64}"), (24, ""), (97, " {padding_index = 0 : i64, scale = 1.5 : f64}")):
        table = case.parameter(f"words_{width}", sum(case.lengths["a"]), width)
        case.lose_by(case.look_up(table, width, "a", options))
    table, kind = case.parameter("tied", sum(case.lengths["a"]), 17), f"tensor<?x{sum(case.lengths['a'])}xf32>"
    x = case.look_up(table, 17, "a", " {padding_index = 1 : i64}")
    scores = case.emit(f"transformer.linear {x.name}, {table.name} out_in : {x.type}, {table.type} -> {kind}", kind, "a")
    case.lose(scores, case.labels("a", sum(case.lengths["a"])))


def rotary_embedding(case: Case) -> None:
    for heads, head, turned in ((1, 2, 2), (3, 5, 4), (2, 17, 6), (2, 40, 40)):
        name = f"heads_{heads}_{head}_{turned}"
        x = case.rows(name, heads * head)
        table = case.emit(f"transformer.rotary_table %a : {IDS} -> tensor<?x{turned}xf32>", f"tensor<?x{turned}xf32>", "a")
        y = case.op(f"transformer.rotary_embedding {x.name}, {table.name} {{num_heads = {heads} : i64}} : {x.type}, {table.type}", x)
        case.lose_by(y)


def cross_entropy(case: Case) -> None:
    """Classes from one on; none, some and all labels count, or the next token's; smoothing; another ignore_index."""
    for classes, smoothing in ((1, 0), (2, 0.1), (3, 0), (17, 0), (97, 0.1), (1000, 0)):
        options = f" {{label_smoothing = {smoothing} : f64}}" if smoothing else ""
        case.lose(case.rows(f"scores_{classes}", classes), case.labels("a", classes), options)
    for counted in (0.0, 1.0):
        case.lose(case.rows(f"counted_{counted:.0f}", 5), case.labels("a", 5, counted))
    next_ones = case.emit(f"transformer.shift_labels {case.labels('b', 5).name} : {GRID}", GRID)
    case.lose(case.rows("shifted", 5, "b"), next_ones)
    case.lose(case.rows("third", 5), case.labels("a", 5, 1.0), " {ignore_index = 3 : i64}")


def element_loss(case: Case) -> None:
    """Numbers near their labels and far away; one label a row may be a vector's, and an integer."""
    tokens = sum(case.lengths["a"])
    for kind in ("squared", "binary_cross_entropy"):
        for width in (1, 3, 17):
            for shape in ((tokens, width), (tokens,)) if width == 1 else ((tokens, width),):
                x, name = case.rows(f"{kind}_{width}_{len(shape)}", width), f"labels{len(case.inputs)}"
                case.inputs[name] = case.random.random(shape, np.float32)
                type = f"tensor<{'?x' * (len(shape) - 1)}{'?' if len(shape) == 1 else width}xf32>"
                dims = f'"{name}"' + ', ""' * (len(shape) - 1)
                case.arguments.append(f'%{name}: {type} {{transformer.name = "{name}", transformer.dims = [{dims}]}}')
                text = f"transformer.element_loss {kind} {x.name}, %{name} : {x.type}, {type} -> {SCALAR}"
                case.add_loss(case.emit(text, SCALAR))
    x, flags = case.rows("flags", 1), case.labels("a", 2, 1.0)
    case.lines.append(f"  %flags, %flags_of = transformer.pack_tokens({flags.name}) mask(%mask_a) : ({GRID}), {GRID} -> {IDS}")
    text = f"transformer.element_loss binary_cross_entropy {x.name}, %flags : {x.type}, {IDS} -> {SCALAR}"
    case.add_loss(case.emit(text, SCALAR))


def span_loss(case: Case) -> None:
    """Columns of both kinds of padding; positions of padding and outside do not count, negative ones mean column 0."""
    for side, width, columns in (("a", 2, (0, 1)), ("b", 5, (3,)), ("a", 1, (0,))):
        x, lengths = case.rows(f"scores_{side}_{width}", width, side), case.lengths[side]
        for column in columns:
            name = f"positions{len(case.inputs)}"
            case.inputs[name] = case.random.integers(-2, max(lengths) + 1, len(lengths))
            case.inputs[name][np.argmax(lengths)] = max(lengths) - 1  # one counts in any case
            case.arguments.append(f'%{name}: {IDS} {{transformer.name = "{name}", transformer.dims = ["batch"]}}')
            text = f"transformer.span_loss {x.name}, %seq_{side}, %{name} column {column} : {x.type}, {IDS} -> {SCALAR}"
            case.add_loss(case.emit(text, SCALAR))


def weights(case: Case) -> None:
    """Weights as slices, sums and products of parameters, in other shapes, put together, transposed."""

    def lose(name: str, weight: Value, outputs: int, inputs: int) -> None:
        x, kind = case.rows(name, inputs), f"tensor<?x{outputs}xf32>"
        y = case.emit(f"transformer.linear {x.name}, {weight.name} out_in : {x.type}, {weight.type} -> {kind}", kind, "a")
        case.lose_by(y)

    p, q = case.parameter("p", 5, 17), case.parameter("q", 5, 17)
    for op in ("addf", "subf", "mulf"):
        lose(op, case.emit(f"arith.{op} {p.name}, {q.name} : {p.type}", p.type), 5, 17)
    lose("rows", case.emit(f"tensor.extract_slice {p.name}[1, 0] [3, 17] [1, 1] : {p.type} to tensor<3x17xf32>", "tensor<3x17xf32>"), 3, 17)
    lose("columns", case.emit(f"tensor.extract_slice {p.name}[2, 4] [3, 9] [1, 1] : {p.type} to tensor<3x9xf32>", "tensor<3x9xf32>"), 3, 9)
    both = case.emit(f"tensor.concat dim(0) {p.name}, {q.name}, {p.name} : ({p.type}, {p.type}, {p.type}) -> tensor<15x17xf32>", "tensor<15x17xf32>")
    lose("below", both, 15, 17)
    beside = case.emit(f"tensor.concat dim(1) {p.name}, {q.name} : ({p.type}, {p.type}) -> tensor<5x34xf32>", "tensor<5x34xf32>")
    lose("beside", beside, 5, 34)
    flat = case.emit(f"tensor.collapse_shape {p.name} [[0, 1]] : {p.type} into tensor<85xf32>", "tensor<85xf32>")
    wide = case.emit(f"tensor.expand_shape {flat.name} [[0, 1]] output_shape [17, 5] : tensor<85xf32> into tensor<17x5xf32>", "tensor<17x5xf32>")
    lose("reshaped", wide, 17, 5)
    x, kind = case.parameter("static", sum(case.lengths["a"]), 17), "tensor<?x17xf32>"
    case.lose_by(case.emit(f"tensor.cast {x.name} : {x.type} to {kind}", kind, "a"))
    empty = case.emit("tensor.empty() : tensor<17x5xf32>", "tensor<17x5xf32>")
    text = f"linalg.transpose ins({p.name} : {p.type}) outs({empty.name} : {empty.type}) permutation = [1, 0]"
    lose("transposed", case.emit(text, empty.type), 17, 5)


def attend(case: Case, name: str, heads: int, kv_heads: int, head: int, options: str = "", memory: str = "a", bias: tuple[int, ...] = ()) -> None:
    q = case.rows(f"{name}_q", heads * head)
    k, v = (case.rows(f"{name}_{what}", kv_heads * head, memory) for what in "kv")
    text = f"transformer.attention {q.name}, {k.name}, {v.name} sequences(%seq_a, %seq_{memory})"
    if bias:
        given = case.parameter(f"{name}_bias", *bias)
        text += f" position_bias({given.name} : {given.type})"
    if options:
        text += f" options<{options}>"
    text += f" {{num_heads = {heads} : i64, num_kv_heads = {kv_heads} : i64, scale = 0.7 : f64}} : {q.type}, {k.type}, {v.type} -> {q.type}"
    case.lose_by(case.op(text, q))


HEADS = (  # heads, heads of keys, width, mask, position_bias
    (1, 1, 1, "causal", ()), (3, 3, 3, "window = 1", (3,)), (2, 1, 5, "causal, window = 3", (2, 5)), (6, 2, 17, "", (6, 3)),
    (1, 1, 24, "causal, window = 100", (1, 201)), (3, 1, 40, "window = 20", ()), (1, 1, 97, "causal", (1,)),
    (4, 2, 64, "causal", (4,)), (6, 2, 16, "window = 30", (6, 9)))


def attention(case: Case) -> None:
    for heads, kv_heads, head, options, bias in HEADS:
        attend(case, f"of_{head}", heads, kv_heads, head, options, "a", bias)


def attention_of_others(case: Case) -> None:
    for heads, kv_heads, head, options, bias in HEADS:
        attend(case, f"of_{head}", heads, kv_heads, head, options, "b", bias)


def scaled_attention(case: Case) -> None:
    """A factor that is an argument of the layer, in which alone it is not a constant."""
    x, kind = case.rows("x", 15), "tensor<?x15xf32>"
    case.functions.append(
        f"func.func private @layer(%x: {kind}, %seq: !transformer.sequences, %factor: f32) -> {kind} {{\n"
        "  %y = transformer.attention %x, %x, %x sequences(%seq, %seq) scale_factor(%factor) options<causal>"
        f" {{num_heads = 3 : i64, scale = 0.7 : f64}} : {kind}, {kind}, {kind} -> {kind}\n  return %y : {kind}\n}}")
    for value in ("0.5", "0.25"):
        factor = case.emit(f"arith.constant {value} : f32", "f32")
        x = case.op(f"func.call @layer({x.name}, %seq_a, {factor.name}) : ({kind}, !transformer.sequences, f32) -> {kind}", x)
    case.lose_by(x)


def lose_of_sequences(case: Case, op: str) -> None:
    """By the token of each sequence."""
    x, batch = case.rows("x", 5), len(case.lengths["a"])
    y = case.op(f"transformer.{op} {x.name}, %seq_a : {x.type} -> {x.type}", x)
    case.inputs["labels"] = np.arange(batch) % 5
    case.arguments.append(f'%labels: {IDS} {{transformer.name = "labels", transformer.range = array<i64: 0, 5>, transformer.dims = ["batch"]}}')
    case.sum = case.emit(f"transformer.cross_entropy {y.name}, %labels : {y.type}, {IDS} -> {SCALAR}", SCALAR)


def first_token(case: Case) -> None:
    lose_of_sequences(case, "first_token")


def last_token(case: Case) -> None:
    lose_of_sequences(case, "last_token")


def labelled_tokens(case: Case) -> None:
    """None, some and all labels count, or the next token's, and padding does not; padded on the right and on the left."""
    for side, counted, options in (("a", 0.5, ""), ("a", 0.5, "shifted"), ("b", 0.5, "padding_index = 2 : i64, shifted"),
                                   ("b", 1.0, "padding_index = 2 : i64"), ("a", 1.0, ""), ("a", 0.0, "shifted")):  # fmt: skip
        x, labels = case.rows(f"x{case.count}", 5, side), case.labels(side, 5, counted)
        case.lines.append(f"  %own{case.count}, %spans{case.count} = transformer.labelled_tokens {labels.name}, %seq_{side} mask(%mask_{side})"
                          f" {{{options}}} : {GRID}, {GRID} -> {IDS}")  # fmt: skip
        own = f"%own{case.count}"
        y = case.op(f"transformer.first_token {x.name}, %spans{case.count} : {x.type} -> {x.type}", x)
        case.add_loss(case.emit(f"transformer.cross_entropy {y.name}, {own} : {y.type}, {IDS} -> {SCALAR}", SCALAR))


def dropout(case: Case) -> None:
    """Of rows, and of the probabilities of heads that share keys."""
    for number, (width, rate) in enumerate(((1, 0.5), (31, 0.1), (40, 0.9), (97, 0.25))):
        x, key = case.rows(f"rows_{width}", width), case.emit(f"arith.constant {5 - 3 * number} : i64", "i64")
        case.lose_by(case.op(f"transformer.dropout {x.name} key({key.name}) rate {rate} : {x.type}", x))
    for name, head, options in (("all", 3, "dropout = 0.3"), ("causal", 4, "causal, window = 70, dropout = 0.6")):
        q, k, v = case.rows(f"{name}_q", 4 * head), case.rows(f"{name}_k", 2 * head), case.rows(f"{name}_v", 2 * head)
        key = case.emit("arith.constant 81985529216486895 : i64", "i64")
        text = (f"transformer.attention {q.name}, {k.name}, {v.name} sequences(%seq_a, %seq_a) dropout_key({key.name}) "
                f"options<{options}> {{num_heads = 4 : i64, num_kv_heads = 2 : i64, scale = 0.7 : f64}} "
                f": {q.type}, {k.type}, {v.type} -> {q.type}")
        case.lose_by(case.op(text, q))


def windows(case: Case) -> None:
    """With gaps between windows, and with windows of sequences that are longer or shorter than they should be."""
    for width, kernel, stride, padding, to in ((3, 3, 1, 1, "a"), (3, 1, 1, 0, "a"), (17, 3, 2, 1, "b"), (40, 2, 3, 0, "a"), (1, 5, 2, 4, "b")):
        x, kind = case.rows(f"x_{width}_{kernel}", width), f"tensor<?x{width * kernel}xf32>"
        text = f"transformer.windows {x.name}, %seq_a -> %seq_{to} kernel {kernel} stride {stride} padding {padding} : {x.type} -> {kind}"
        case.lose_by(case.emit(text, kind, to))


def relative_scores(case: Case) -> None:
    """Scores of queries and of keys, of heads that share keys, for distances that share columns."""
    for heads, kv_heads, head, positions, reach, of_queries, of_keys, memory, options in (
            (4, 2, 3, 3, 2, True, True, "a", ""), (1, 1, 17, 97, 60, True, False, "b", ""),
            (3, 3, 5, 8, 4, False, True, "b", "causal"), (2, 2, 33, 100, 150, True, True, "a", "window = 70"),
            (4, 2, 8, 9, 6, True, True, "b", ""), (2, 1, 36, 20, 30, True, True, "a", "causal")):
        name = f"of_{head}"
        q, k, v = case.rows(f"{name}_q", heads * head), case.rows(f"{name}_k", kv_heads * head, memory), case.rows(f"{name}_v", kv_heads * head, memory)
        given = ""
        for what, x, count in (("query_scores", q, heads if of_queries else 0), ("key_scores", k, kv_heads if of_keys else 0)):
            if count:
                table, kind = case.parameter(f"{name}_{what}", positions, count * head), f"tensor<?x{count * positions}xf32>"
                text = f"transformer.relative_scores {x.name}, {table.name} {{num_heads = {count} : i64}} : {x.type}, {table.type} -> {kind}"
                scores = case.emit(text, kind, x.side)
                given += f" {what}({scores.name} : {kind})"
        columns = np.linspace(positions - 1, 0, 2 * reach + 1).round().astype(int).tolist()
        if options:
            options = f"options<{options}> "
        text = (f"transformer.attention {q.name}, {k.name}, {v.name} sequences(%seq_a, %seq_{memory}){given} columns {columns} {options}"
                f"{{num_heads = {heads} : i64, num_kv_heads = {kv_heads} : i64, scale = 0.7 : f64}} : {q.type}, {k.type}, {v.type} -> {q.type}")
        case.lose_by(case.op(text, q))


CASES: tuple[Callable[[Case], None], ...] = (  # what takes longest first
    attention, attention_of_others, relative_scores, linear, head, long_head, weights, layer_norm, rms_norm, pre_norm, activation, elementwise, embedding, rotary_embedding,
    dropout, cross_entropy, element_loss, span_loss, scaled_attention, first_token, last_token, labelled_tokens, windows)

# A difference knows of no padding_index; of many parameters there are many differences.
WITHOUT_DIFFERENCES = (embedding, long_head)


def case_of(write: Callable[[Case], None], lengths: dict[str, tuple[int, ...]]) -> Case:
    case = Case(lengths)
    write(case)
    return case
