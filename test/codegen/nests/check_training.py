"""Compares the kernels of training (losses, sums, the backward of rows and of attention, dropout) with double precision on
random shapes."""
import sys
from pathlib import Path

import numpy as np

import nests
from checks import arch, check, garbage, memref, normal, offsets, random, run_checks

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
from dropout import factors  # noqa: E402

IGNORED, PADDING = -100, 2


def build(name, ins, outs, attributes="", constants="", operands="", behind="", options=""):
    """A function of one kernel: `ins` and `outs` are types, an in with its keyword in front if it has one; `operands` names of
    constants behind the ins."""
    keywords, ins = zip(*(t.rpartition("onto ")[1:] for t in ins))
    ins = list(ins)
    names = [f"%i{i}" for i in range(len(ins))], [f"%o{i}" for i in range(len(outs))]
    arguments = ", ".join(f"{n}: {t}" for n, t in zip(names[0] + names[1], ins + outs))
    values = [k + n for k, n in zip(keywords, names[0])] + [n for n, _ in operands]
    types = ins + [t for _, t in operands] + outs
    text = f"""
func.func @f({arguments}) {{
{constants}  transformer_kernel.{name} ins({", ".join(values)}) {behind} outs({", ".join(names[1])}) {options}
    {{{attributes}}} : ({", ".join(types)}) -> ()
  return
}}"""
    return nests.build(text, arch)["f"]


def close(got, want, bound):
    error = np.abs(got.astype(np.float64) - want).max(initial=0) / max(np.abs(want).max(initial=0), 1e-30)
    return bool(error <= bound), f"error {error:.1e}"


# Losses ------------------------------------------------------------------------


def check_labels():
    ids, grid = "memref<?xi64>", "memref<?x?xi64>"
    shift = build("shift_labels", [grid], [grid], f"ignore_index = {IGNORED} : i64")
    count = build("count_labels", [ids], ["memref<f32>"], f"ignore_index = {IGNORED} : i64, padding_index = {PADDING} : i64")
    reals = build("count_labels", ["memref<?x5xf32>"], ["memref<f32>"], f"ignore_index = {IGNORED} : i64")
    for batch, length in ((1, 1), (3, 7), (0, 4), (40, 300)):
        labels = random.choice([IGNORED, 0, 1, PADDING, 3], (batch, length))
        got, number, other = np.full((batch, length), -7), garbage(), garbage()
        nests.call(shift, labels, got)
        want = np.concatenate([labels[:, 1:], np.full((batch, 1), IGNORED)], 1)
        nests.call(count, labels.reshape(-1), number)
        nests.call(reals, normal(batch * length, 5), other)
        ok = np.array_equal(got, want) and number == np.isin(labels, (0, 1, 3)).sum() and other == batch * length * 5
        check(f"labels {batch}x{length}", bool(ok))


def check_cross_entropy():
    for classes, smoothing, padding in ((1, 0.0, None), (5, 0.1, PADDING), (33, 0.0, PADDING), (1030, 0.2, None)):
        rows, ids, scalar = memref(None, classes), "memref<?xi64>", "memref<f32>"
        attributes = f"ignore_index = {IGNORED} : i64, label_smoothing = {smoothing} : f64"
        attributes += f", padding_index = {padding} : i64" if padding is not None else ""
        forward = build("cross_entropy", [rows, ids], [scalar, "memref<?xf32>"], attributes)
        backward = build("cross_entropy_gradient", [rows, ids, scalar], [rows], attributes)
        both = build("cross_entropy_gradient", [rows, ids, scalar], [rows, scalar, "memref<?xf32>"], attributes)
        for count in (0, 1, 37, 300):
            x = normal(count, classes) * 5
            labels = np.where(random.random(count) < 0.3, IGNORED, random.integers(0, classes, count))
            loss, dx, dloss = garbage(), garbage(count, classes), np.array(0.7, np.float32)
            nests.call(forward, x, labels, loss, garbage(count))
            nests.call(backward, x, labels, dloss, dx)
            real = x.astype(np.float64)
            logs = real - np.log(np.exp(real - real.max(1, keepdims=True)).sum(1, keepdims=True)) - real.max(1, keepdims=True)
            counted = (labels != IGNORED) & (labels != padding)
            target = np.full(x.shape, smoothing / classes)
            target[counted, labels[counted]] += 1 - smoothing
            target[~counted] = 0
            number = max(counted.sum(), 1)
            want = -(target * logs).sum() / number
            dwant = np.where(counted[:, None], np.exp(logs) - target, 0) * 0.7 / number
            ok, note = close(loss, want, 1e-6)
            more, other = close(dx, dwant, 2e-6)
            for to in (garbage(count, classes), x):  # x: in the place of the scores
                also = garbage()
                nests.call(both, x, labels, dloss, to, also, garbage(count))
                ok = ok and also == loss and close(to, dwant, 2e-6)[0]
            check(f"cross_entropy {classes} smoothing {smoothing} rows {count}", ok and more, f"{note}, of the gradient {other[6:]}")


def check_element_loss():
    for kind in ("squared", "binary_cross_entropy"):
        for width, labels in ((1, "memref<?xi64>"), (1, "memref<?xf32>"), (5, "memref<?x5xf32>")):
            rows, scalar = memref(None, width), "memref<f32>"
            function, backward = element_losses(kind, rows, labels, scalar)
            for count in (1, 37, 600):
                x = normal(count, width) * 3
                y = random.integers(0, 2, (count, width))
                given = y.reshape(-1) if labels.count("x") == 1 else y
                given = given if "i64" in labels else given.astype(np.float32)
                loss, dx, dloss = garbage(), garbage(count, width), np.array(0.7, np.float32)
                nests.call(function, x, given, loss)
                nests.call(backward, x, given, dloss, dx)
                real = x.astype(np.float64)
                each, slope = ((real - y) ** 2, 2 * (real - y)) if kind == "squared" else (
                    np.logaddexp(0, real) - real * y, 1 / (1 + np.exp(-real)) - y)
                ok, note = close(loss, each.mean(), 1e-6)
                more, other = close(dx, slope * 0.7 / x.size, 1e-6)
                check(f"element_loss {kind} {labels} rows {count}", ok and more, f"{note}, of the gradient {other[6:]}")


def element_losses(kind, rows, labels, scalar):
    texts = [f"""
func.func @{name}(%x: {rows}, %y: {labels}, {"%d: memref<f32>, " * more}%o: {out}) {{
  transformer_kernel.{name} {kind} ins(%x, %y{", %d" * more}) outs(%o) : ({rows}, {labels}, {f"{scalar}, " * more}{out}) -> ()
  return
}}""" for name, more, out in (("element_loss", False, scalar), ("element_loss_gradient", True, rows))]
    library = nests.build("".join(texts), arch)
    return library["element_loss"], library["element_loss_gradient"]


def check_spans():
    length, width, column = 11, 3, 1
    rows, index, ids, scalar = memref(None, width), "memref<?xindex>", "memref<?xi64>", "memref<f32>"
    constants, operands = f"  %l = arith.constant {length} : index\n", [("%l", "index")]
    texts = []
    for name, ins, outs, options in (("count_spans", [index, index, ids], [scalar], ""),
                                     ("span_loss", [rows, index, index, ids], [scalar], f"column {column}"),
                                     ("span_loss_gradient", [rows, index, index, ids, scalar], [rows], f"column {column}")):
        named = list(zip([f"%i{i}" for i in range(len(ins))], ins))
        inner = named + operands if name != "span_loss_gradient" else named[:-1] + operands + named[-1:]
        texts.append(f"""
func.func @{name}({", ".join(f"{n}: {t}" for n, t in named)}, %o: {outs[0]}) {{
{constants}  transformer_kernel.{name} ins({", ".join(n for n, _ in inner)}) outs(%o) {options}
    : ({", ".join(t for _, t in inner)}, {outs[0]}) -> ()
  return
}}""")
    library = nests.build("".join(texts), arch)
    for batch, density in ((1, 1), (5, 0.7), (7, 0.2), (2, 0)):
        mask = random.random((batch, length)) < density
        places, cu = np.flatnonzero(mask), offsets(mask.sum(1))
        positions = random.integers(-1, length + 2, batch)
        x, number, loss, dx = normal(len(places), width), garbage(), garbage(), garbage(len(places), width)
        dloss = np.array(0.7, np.float32)
        nests.call(library["count_spans"], cu, places, positions, number)
        nests.call(library["span_loss"], x, cu, places, positions, loss)
        nests.call(library["span_loss_gradient"], x, cu, places, positions, dloss, dx)
        losses, want = [], np.zeros(x.shape)
        for b in range(batch):
            position = max(positions[b], 0)
            tokens = slice(cu[b], cu[b + 1])
            meant = np.flatnonzero(places[tokens] % length == position)
            if not len(meant):
                continue
            scores = x[tokens, column].astype(np.float64)
            p = np.exp(scores - scores.max())
            p /= p.sum()
            losses.append(-np.log(p[meant[0]]))
            p[meant[0]] -= 1
            want[tokens, column] = p
        count = max(len(losses), 1)
        ok, note = close(loss, sum(losses) / count, 1e-6)
        more, other = close(dx, want * 0.7 / count, 1e-6)
        check(f"span_loss {batch} of {len(places)} tokens", ok and more and number == len(losses), f"{note}, of the gradient {other[6:]}")


# Sums --------------------------------------------------------------------------


def check_sums():
    for width in (1, 5, 33, 300):
        rows = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>"
        function = build("sum_rows", [rows], [memref(width)])
        for count in (0, 1, 37, 700):
            x, y = normal(count, width + 3)[:, :width], garbage(width)
            nests.call(function, x, y)
            check(f"sum_rows {width} rows {count}", *close(y, x.astype(np.float64).sum(0), 2e-7))
    for shape in ((1,), (33,), (3, 5), (300, 700), (5000, 7)):
        function = build("sum_squares", [memref(*shape)], ["memref<f32>", memref(shape[0] if len(shape) == 2 else 1)])
        x, y = normal(*shape), garbage()
        nests.call(function, x, y, garbage(shape[0] if len(shape) == 2 else 1))
        check(f"sum_squares {shape}", *close(y, (x.astype(np.float64) ** 2).sum(), 1e-6))


def check_doubles():
    """Functions in double precision, of which a GPU has its own."""
    reals = "memref<?xf64>"
    function = nests.build(f"""
func.func @f(%x: {reals}, %y: {reals}, %e: {reals}, %l: {reals}, %p: {reals}) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = memref.dim %x, %c0 : {reals}
  scf.for %i = %c0 to %n step %c1 {{
    %a = memref.load %x[%i] : {reals}
    %b = memref.load %y[%i] : {reals}
    %exp = math.exp %a : f64
    memref.store %exp, %e[%i] : {reals}
    %log = math.log %a : f64
    memref.store %log, %l[%i] : {reals}
    %power = math.powf %a, %b : f64
    memref.store %power, %p[%i] : {reals}
  }}
  return
}}""", arch)["f"]
    special = np.array([0.0, np.inf, -np.inf, np.nan, -1.0, -0.0, 1.0, 1e-310, 5e-324, 709.7, 710.0, -745.0, -800.0, 0.5, 2.0])
    x = np.concatenate([special, random.standard_normal(2000) * 200, np.exp(random.standard_normal(2000) * 100), 1 + random.standard_normal(500) * 1e-6])
    y = random.standard_normal(len(x)) * 3
    e, l, p = (np.full(len(x), -7.0) for _ in range(3))
    nests.call(function, x, y, e, l, p)
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        wanted = {"exp": (e, np.exp(wide)), "log": (l, np.log(wide)), "powf": (p, np.where(x >= 0, np.power(wide, y.astype(np.longdouble)), np.nan))}
        for name, (got, want) in wanted.items():
            want = want.astype(np.float64)
            counts = x >= 0 if name == "powf" else np.full(len(x), True)  # of a base that is not negative
            normal_result = np.isfinite(want) & (np.abs(want) > 1e-300) & counts
            error = np.abs(got / want - 1)[normal_result].max()
            odd = counts & ~(np.abs(want) > 1e-300) | counts & ~np.isfinite(want)
            ok = np.allclose(got[odd], want[odd], rtol=1e-2, atol=1e-320, equal_nan=True)
            check(f"{name} of f64", bool(ok and error < (5e-13 if name == "powf" else 1e-15)), f"error {error:.1e}")


# The backward of rows ------------------------------------------------------------


def check_norm_gradient():
    for width, part, form in ((1, 1, ""), (5, 5, ""), (33, 33, "unbiased"), (100, 100, "unbiased, eps_outside"), (768, 768, ""),
                              (1, 1, "rms"), (16, 16, "rms"), (60, 20, "rms"), (97, 97, "eps_outside")):
        rms, rows, gamma = form == "rms", memref(None, width), memref(part)
        options = ", ".join(["eps = 1.0e-3"] + ([] if rms else [form] * bool(form)))
        outs = [rows, gamma] + [gamma] * (not rms) + [memref(None, 2 * width // part)]
        function = build("norm_gradient", [rows, gamma, rows], outs, "rms" if rms else "", options=f"norm<{options}>")
        added = build("norm_gradient", [rows, gamma, rows, "onto " + rows], outs, "rms" if rms else "", options=f"norm<{options}>")
        for count in (0, 1, 37, 200):
            x, dy, g = normal(count, width) + 1, normal(count, width), normal(part)
            got = [garbage(count, width), garbage(part)] + [garbage(part)] * (not rms)
            nests.call(function, x, g, dy, *got, garbage(count, 2 * width // part))
            parts, d = (a.astype(np.float64).reshape(count * width // part, part) for a in (x, dy))
            free = max(part - 1, 0) if "unbiased" in form else part
            mean = 0 if rms else parts.mean(1, keepdims=True)
            centred = parts - mean
            variance = (centred**2).sum(1, keepdims=True) / free
            deviation = np.sqrt(variance) + 1e-3 if "outside" in form else np.sqrt(variance + 1e-3)
            h, weighted = centred / deviation, d * g
            root = np.where(variance > 0, np.sqrt(variance), 1) if "outside" in form else deviation
            dx = weighted - centred * (weighted * h).sum(1, keepdims=True) / free / root
            dx = (dx if rms else dx - weighted.mean(1, keepdims=True)) / deviation
            wanted = [dx.reshape(count, width), (d * h).sum(0)] + [d.sum(0)] * (not rms)
            # dx of few numbers is all cancellation.
            largest = max(np.abs(want).max(initial=0) for want in wanted) or 1
            error = max(np.abs(a - b).max(initial=0) / max(np.abs(b).max(initial=0), 0.05 * largest) for a, b in zip(got, wanted))
            check(f"norm_gradient {width} {form} rows {count}", bool(error < 2e-5), f"error {error:.1e}")
            onto, sums = normal(count, width), [garbage(*a.shape) for a in got]
            nests.call(added, x, g, dy, onto, *sums, garbage(count, 2 * width // part))
            error = np.abs(sums[0].astype(np.float64) - onto - got[0]).max(initial=0) / (np.abs(onto) + np.abs(got[0])).max(initial=1e-30)
            same = all(np.array_equal(a, b) for a, b in zip(sums[1:], got[1:]))
            check(f"norm_gradient {width} {form} rows {count} onto", same and bool(error < 2e-7), f"error {error:.1e}")


def check_embedding_gradient():
    for width, rows, scale, padding, onto in ((5, 7, 1.0, None, False), (33, 50, 8.0, 3, False), (16, 9, 1.0, 0, True)):
        dy, table = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>", memref(rows, width)
        attributes = f"scale = {scale} : f64" + (f", padding_index = {padding} : i64" if padding is not None else "") + ", onto" * onto
        function = build("embedding_gradient", ["memref<?xi64>", dy], [table], attributes)
        for count in (0, 1, 37, 300):
            ids, d = random.integers(0, rows, count), normal(count, width + 3)[:, :width]
            got = normal(rows, width) if onto else garbage(rows, width)
            want = got.copy() if onto else np.zeros((rows, width), np.float32)
            for id, row in zip(ids, d):
                if id != padding:
                    want[id] += np.float32(scale) * row
            nests.call(function, ids, d, got)
            check(f"embedding_gradient {rows}x{width} tokens {count}", np.array_equal(got, want))


def check_embedding_squares():
    """By how much the rows that are added raise the sum of squares."""
    for width, rows, scale, padding, onto in ((33, 50, 8.0, 3, False), (133, 9, 2.0, 0, True), (16, 700, 1.0, None, True)):
        attributes = f"scale = {scale} : f64" + (f", padding_index = {padding} : i64" if padding is not None else "") + ", onto" * onto
        function = build("embedding_gradient", ["memref<?xi64>", memref(None, width)], [memref(rows, width), "memref<f32>", memref(width)], attributes)
        for count in (0, 1, 37, 300):
            ids, dy = random.integers(0, rows, count), normal(count, width)
            table, raised = normal(rows, width) if onto else garbage(rows, width), garbage()
            before = table.astype(np.float64) if onto else np.zeros((rows, width))
            after = before.copy()
            np.add.at(after, ids[ids != padding], scale * dy[ids != padding].astype(np.float64))
            nests.call(function, ids, dy, table, raised, garbage(width))
            check(f"embedding_gradient {rows}x{width} of {count}, table", *close(table, after, 1e-6))
            check(f"embedding_gradient {rows}x{width} of {count}, squares", *close(raised, (after**2 - before**2).sum(), 1e-6))


def check_labelled_tokens():
    """Masks with holes; rows, columns and labels that there are none of; and the gradient of rows that only some of have."""
    grid = "memref<?x?xi64>"
    text = "".join(f"""
func.func @count{n}(%l: {grid}, %m: {grid}) -> index {{
  %n = transformer_kernel.count_labelled_tokens %l, %m {{{options}}} : {grid}, {grid}
  return %n : index
}}
func.func @take{n}(%l: {grid}, %m: {grid}, %cu: memref<?xindex>, %own: memref<?xi64>) {{
  transformer_kernel.labelled_tokens ins(%l, %m) outs(%cu, %own) {{{options}}} : ({grid}, {grid}, memref<?xindex>, memref<?xi64>) -> ()
  return
}}""" for n, options in enumerate(("ignore_index = -100 : i64", "ignore_index = -100 : i64, padding_index = 3 : i64, shifted")))
    library = nests.build(text, arch)
    gradient = build("token_gradient", [memref(None, 21), "memref<?xindex>"], [memref(None, 21)], "")
    for batch, length, density, counted in ((1, 1, 1, 1), (3, 7, 0.5, 0.5), (4, 300, 0.9, 0.15), (2, 9, 1, 0), (2, 9, 0, 1), (0, 4, 1, 1), (3, 0, 1, 1)):
        mask = (random.random((batch, length)) < density).astype(np.int64)
        labels = np.where(random.random((batch, length)) < counted, random.integers(0, 5, (batch, length)), -100)
        tokens = int(mask.sum())
        for n in range(2):
            own = np.full((batch, length), -100)
            own[:, : max(length - n, 0)] = labels[:, n:]
            own = own[mask != 0]
            rows = np.flatnonzero((own != -100) & ((own != 3) | (n == 0)))
            cu, got = np.full(len(rows) + 1, -7), np.full(len(rows), -7)
            ok = nests.call(library[f"count{n}"], labels, mask) == len(rows)
            nests.call(library[f"take{n}"], labels, mask, cu, got)
            ok &= np.array_equal(cu, [*rows, tokens]) and np.array_equal(got, own[rows])
            check(f"labelled_tokens {batch}x{length} of {density} and {counted}{', the next' * n}", ok)
            dy, dx, want = normal(len(rows), 21), garbage(tokens, 21), np.zeros((tokens, 21), np.float32)
            want[rows] = dy
            nests.call(gradient, dy, cu, dx)
            check(f"token_gradient of {len(rows)} of {tokens}", np.array_equal(dx, want))


def check_token_gradient():
    for last in (False, True):
        dy, dx = "memref<?x21xf32, strided<[24, 1]>>", memref(None, 21)
        function = build("token_gradient", [dy, "memref<?xindex>"], [dx], "last" * last)
        for lengths in ([1], [7, 0, 3, 16, 1], [0, 0]):
            d, got, want = normal(len(lengths), 24)[:, :21], garbage(sum(lengths), 21), np.zeros((sum(lengths), 21), np.float32)
            for row, first, n in zip(d, offsets(lengths), lengths):
                if n:
                    want[first + (n - 1 if last else 0)] = row
            nests.call(function, d, offsets(lengths), got)
            check(f"token_gradient {'last' if last else 'first'} {lengths}", np.array_equal(got, want))


def check_rotary_inverse():
    heads, dim, rotated = 3, 20, 12
    rows, table = memref(None, heads * dim), memref(None, rotated)
    function = build("rotary_embedding", [rows, table], [rows], f"num_heads = {heads} : i64, inverse")
    for count in (0, 1, 37):
        angle, x, got = normal(count, rotated // 2), normal(count, heads * dim), garbage(count, heads * dim)
        nests.call(function, x, np.concatenate([np.cos(angle), np.sin(angle)], 1).astype(np.float32), got)
        h = x.astype(np.float64).reshape(count, heads, dim)
        c, s = np.cos(angle.astype(np.float64))[:, None], np.sin(angle.astype(np.float64))[:, None]
        a, b = h[..., : rotated // 2], h[..., rotated // 2 : rotated]
        want = np.concatenate([a * c + b * s, b * c - a * s, h[..., rotated:]], 2).reshape(count, heads * dim)
        check(f"rotary_embedding inverse rows {count}", *close(got, want, 1e-6))


# Dropout -----------------------------------------------------------------------


def check_dropout():
    key, rate = 0x0123456789ABCDEF, 0.3
    for width in (1, 7, 32, 70, 300):
        rows = f"memref<?x{width}xf32, strided<[{width + 3}, 1]>>"
        function = build("dropout", [rows], [rows], f"rate = {rate} : f64", f"  %key = arith.constant {key} : i64\n", [("%key", "i64")])
        for count in (0, 1, 37):
            x, got = normal(count, width + 3)[:, :width], garbage(count, width + 3)[:, :width]
            nests.call(function, x, got)
            want = x * factors(key, rate, np.arange(count), np.arange(width), 0)
            check(f"dropout {width} rows {count}", np.array_equal(got, want))


# Attention ----------------------------------------------------------------------


class AttentionGradient:
    """Forward and backward as the kernels' operands have them, with a loss that is the sum of dresult times result."""

    KEY, RATE, BIAS, REACH, POSITIONS = 77, 0.25, 9, 6, 5

    def __init__(self, heads, groups, dim, causal=False, window=0, cross=False, bias=None, relative=False, drop=False):
        self.heads, self.groups, self.dim, self.causal, self.window = heads, groups, dim, causal, window
        self.cross, self.bias, self.relative, self.drop = cross, bias, relative, drop
        self.columns = random.integers(0, self.POSITIONS, 2 * self.REACH + 1).astype(np.int32)
        q, k, sums, cu = memref(None, heads * dim), memref(None, groups * dim), memref(None, heads), "memref<?xindex>"
        table = memref(heads, self.BIAS) if bias == "table" else memref(heads)
        of_query, of_key = memref(None, heads * self.POSITIONS), memref(None, groups * self.POSITIONS)
        columns = f"memref<{2 * self.REACH + 1}xi32>"
        options = ", ".join(["causal"] * causal + [f"window = {window}"] * bool(window) + [f"dropout = {self.RATE}"] * drop)
        ins = [("%q", q), ("%k", k), ("%v", k), ("%r", q), ("%s", sums), ("%d", q), ("%cq", cu), ("%ck" if cross else "%cq", cu)]
        more = [("position_bias", "%b", table)] * bool(bias)
        more += [("query_scores", "%qs", of_query), ("key_scores", "%ks", of_key), ("columns", "%c", columns)] * relative
        more += [("dropout_key", "%key", "i64")] * drop
        outs = [("%dq", q), ("%dk", k), ("%dv", k)] + [("%db", table)] * bool(bias)
        outs += [("%dqs", of_query), ("%dks", of_key)] * relative
        outs += [("%share", memref(None, heads, self.BIAS if bias == "table" else 1))] * bool(bias)
        every = {n: t for n, t in ins} | {"%ck": cu, "%b": table, "%qs": of_query, "%ks": of_key, "%c": columns} | {
            "%dq": q, "%dk": k, "%dv": k, "%db": table, "%dqs": of_query, "%dks": of_key, "%share": memref(None, heads, self.BIAS if bias == "table" else 1)}
        self.names = list(every)
        self.function = nests.build(f"""
func.func @f({", ".join(f"{n}: {t}" for n, t in every.items())}) {{
  %key = arith.constant {self.KEY} : i64
  transformer_kernel.attention_gradient ins({", ".join(n for n, _ in ins)}) {" ".join(f"{w}({n})" for w, n, _ in more)}
    outs({", ".join(n for n, _ in outs)}) {f"options<{options}>" if options else ""}
    {{num_heads = {heads} : i64, num_kv_heads = {groups} : i64, scale = 0.3 : f64}}
    : ({", ".join(t for _, t in ins)}, {"".join(f"{t}, " for _, _, t in more)}{", ".join(t for _, t in outs)}) -> ()
  return
}}""", arch)["f"]

    def exact(self, given, queries, keys):
        """Result, log_sum_exp and gradients, in float64."""
        g = {n: a.astype(np.float64) if a.dtype == np.float32 else a for n, a in given.items()}
        h, n, d, p = self.heads, self.groups, self.dim, self.POSITIONS
        want = {name: np.zeros(g[name[:1] + name[2:]].shape) for name in ("%dq", "%dk", "%dv", "%db", "%dqs", "%dks")}
        result, sums = np.zeros(g["%q"].shape), np.full((len(g["%q"]), h), -np.inf)
        for a, count, b, number in zip(offsets(queries), queries, offsets(keys), keys):
            rows, memory = slice(a, a + count), slice(b, b + number)
            distance = np.arange(number)[None, :] - (np.arange(count) + number - count)[:, None]
            seen = distance <= 0 if self.causal else np.full(distance.shape, True)
            seen = seen & (np.abs(distance) < self.window) if self.window else seen
            column = self.columns[np.clip(distance + self.REACH, 0, 2 * self.REACH)]
            place = np.clip(distance + self.BIAS // 2, 0, self.BIAS - 1)
            for head in range(h):
                c, kv = slice(head * d, head * d + d), head // (h // n)
                ck, cp, cs = slice(kv * d, kv * d + d), slice(head * p, head * p + p), slice(kv * p, kv * p + p)
                s = g["%q"][rows, c] @ g["%k"][memory, ck].T
                if self.relative:
                    s = s + np.take_along_axis(g["%qs"][rows, cp], column, 1) + np.take_along_axis(g["%ks"][memory, cs], column.T, 1).T
                s = s * 0.3
                if self.bias:
                    s = s + (g["%b"][head][place] if self.bias == "table" else -g["%b"][head] * np.abs(distance))
                s = np.where(seen, s, -np.inf)
                some = seen.any(1)
                most = np.where(some, s.max(1, initial=-np.inf), 0)
                e = np.exp(s - most[:, None])
                total = np.where(some, e.sum(1), 1)
                prob = e / total[:, None]
                sums[rows, head] = np.where(some, most + np.log(total), -np.inf)
                f = factors(self.KEY, self.RATE, np.arange(a, a + count), np.arange(number), head + 1) if self.drop else np.ones(s.shape)
                result[rows, c] = prob * f @ g["%v"][memory, ck]
                dp = g["%d"][rows, c] @ g["%v"][memory, ck].T * f
                ds = prob * (dp - (dp * prob).sum(1, keepdims=True))
                want["%dv"][memory, ck] += (prob * f).T @ g["%d"][rows, c]
                want["%dq"][rows, c] += 0.3 * ds @ g["%k"][memory, ck]
                want["%dk"][memory, ck] += 0.3 * ds.T @ g["%q"][rows, c]
                if self.relative:
                    i, j = np.indices(ds.shape)
                    np.add.at(want["%dqs"], (a + i, head * p + column), 0.3 * ds)
                    np.add.at(want["%dks"], (b + j, kv * p + column), 0.3 * ds)
                if self.bias == "table":
                    np.add.at(want["%db"][head], place, ds)
                elif self.bias:
                    want["%db"][head] -= (ds * np.abs(distance)).sum()
        return result, sums, want

    def check(self, name, queries):
        keys = [int(n) for n in random.permutation(queries)] if self.cross else queries
        t, u, h, n, d = sum(queries), sum(keys), self.heads, self.groups, self.dim
        given = {"%q": normal(t, h * d), "%k": normal(u, n * d), "%v": normal(u, n * d), "%d": normal(t, h * d)}
        given |= {"%b": normal(h, self.BIAS) if self.bias == "table" else np.abs(normal(h)), "%c": self.columns}
        given |= {"%qs": normal(t, h * self.POSITIONS), "%ks": normal(u, n * self.POSITIONS)}
        result, sums, want = self.exact(given, queries, keys)
        arrays = given | {"%r": result.astype(np.float32), "%s": sums.astype(np.float32), "%cq": offsets(queries), "%ck": offsets(keys)}
        arrays |= {out: garbage(*want[out].shape) for out in want}
        arrays["%share"] = garbage(len(queries), h, self.BIAS if self.bias == "table" else 1)
        nests.call(self.function, *(arrays[each] for each in self.names))
        outs = ["%dq", "%dk", "%dv"] + ["%db"] * bool(self.bias) + ["%dqs", "%dks"] * self.relative
        largest = max(np.abs(want[out]).max(initial=0) for out in outs)
        errors = [np.abs(arrays[out] - want[out]).max(initial=0) / max(np.abs(want[out]).max(initial=0), 0.05 * largest) for out in outs]
        check(f"attention_gradient {name} {h}/{n}x{d} {queries}", max(errors) < 2e-5, f"error {max(errors):.1e}")


def check_attention_gradient():
    modes = {"self": {}, "causal cross": {"causal": True, "cross": True}, "window": {"window": 9, "drop": True},
             "causal window cross": {"causal": True, "window": 3, "cross": True}, "table": {"bias": "table", "cross": True},
             "slopes": {"bias": "slopes", "causal": True}, "relative": {"relative": True, "cross": True},
             "all": {"relative": True, "bias": "table", "causal": True, "drop": True}, "wide": {}}
    shapes = ((2, 2, 5), (4, 2, 16), (1, 1, 80), (3, 1, 12), (1, 1, 144))
    for i, (name, settings) in enumerate(modes.items()):
        gradient = AttentionGradient(*shapes[i % len(shapes)], **settings)
        for queries in ([1], [7, 0, 3, 16, 17, 1], [66, 5, 131]):
            gradient.check(name, queries)


run_checks(check_labels, check_cross_entropy, check_element_loss, check_spans, check_sums, check_doubles, check_norm_gradient, check_embedding_gradient,
           check_token_gradient, check_rotary_inverse, check_dropout, check_attention_gradient, check_embedding_squares,
           check_labelled_tokens)
