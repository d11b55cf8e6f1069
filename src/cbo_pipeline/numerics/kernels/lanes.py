"""Vectors of numbers that are worked on together: eight float32 or four float64, the width of a register.

numba vectorises simple loops by itself, but it does not keep several sums of vectors in registers while a list is
walked through; that is what makes a product with a sparse matrix fast. The loops below are therefore built from
instructions of LLVM. A sum always runs over its terms one by one, in their order: how many vectors are handled
together, and which, never changes a bit of the result. ``add_row`` takes two at a time, one register of processors
with AVX-512; for others LLVM makes two of it.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cbo_pipeline.numerics.kernels.compiler import kernel

REGISTER_BYTES = 32
CACHE_LINE = 64  # bytes
MOST_VECTORS = 12  # sums of vectors that fit into the sixteen registers, beside what is added to them

_FUSED = ("contract",)  # a product and the sum that it goes into may be rounded once


@kernel
def aligned(size, like):
    """A flat array of the type of ``like`` that begins with a cache line, so that no vector lies across two."""
    space = np.empty(size + CACHE_LINE // like.itemsize, like.dtype)
    skip = -space.ctypes.data % CACHE_LINE // like.itemsize
    return space[skip : skip + size]


@intrinsic
def lanes(typingctx, array):
    """How many numbers of this array's type are one vector; a constant where it is compiled."""
    count = _lane_count(array)

    def codegen(context, builder, signature, args):
        return context.get_constant(types.intp, count)

    return types.intp(array), codegen


@intrinsic
def float_of_bits(typingctx, bits):
    """The floating point number with the bits of a signed integer of the same size."""
    number = {types.int32: types.float32, types.int64: types.float64}[bits]

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_data_type(number))

    return number(bits), codegen


@intrinsic
def bits_of_float(typingctx, number):
    """The bits of a floating point number as a signed integer of the same size."""
    bits = {types.float32: types.int32, types.float64: types.int64}[number]

    def codegen(context, builder, signature, args):
        return builder.bitcast(args[0], context.get_data_type(bits))

    return bits(number), codegen


@intrinsic
def choose(typingctx, condition, one, other):
    """one if condition else other, plus zero. Without the addition LLVM would make it a store under a mask: slow."""

    def codegen(context, builder, signature, args):
        return builder.fadd(builder.select(*args), context.get_constant(one, 0.0))

    return one(types.boolean, one, one), codegen


@intrinsic
def transpose_in(typingctx, target, t0, stride, source, places):
    """target[t0 + stride i + j] = source[places[j] + i] for a square of i and j, a vector each; arrays are flat."""
    signature = types.void(target, types.intp, types.intp, source, places)

    def codegen(context, builder, signature, args):
        to, at, where = (_data(context, builder, k, args[i]) for k, i in ((target, 0), (source, 3), (places, 4)))
        count, vector = _lane_count(target), _vector(context, target)
        rows = [builder.load(builder.gep(where, [args[1].type(j)])) for j in range(count)]
        loaded = [builder.load(_vector_at(builder, at, row, vector), align=4) for row in rows]
        for i, x in enumerate(_transposed(builder, loaded)):
            place = builder.add(args[1], builder.mul(args[2], args[2].type(i)))
            builder.store(x, _vector_at(builder, to, place, vector), align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def transpose_out(typingctx, target, places, source, s0, stride):
    """target[places[j] + i] = source[s0 + stride i + j], the inverse of ``transpose_in``."""
    signature = types.void(target, places, source, types.intp, types.intp)

    def codegen(context, builder, signature, args):
        to, where, at = (_data(context, builder, k, args[i]) for i, k in enumerate((target, places, source)))
        count, vector = _lane_count(target), _vector(context, target)
        rows = [builder.add(args[3], builder.mul(args[4], args[4].type(i))) for i in range(count)]
        loaded = [builder.load(_vector_at(builder, at, row, vector), align=4) for row in rows]
        for j, x in enumerate(_transposed(builder, loaded)):
            place = builder.load(builder.gep(where, [args[3].type(j)]))
            builder.store(x, _vector_at(builder, to, place, vector), align=4)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def add_row(typingctx, target, t0, start, s0, source, z0, stride, index, value, begin, end, vectors):
    """target[t0 + k] = start[s0 + k] + sum of value[j] * source[z0 + stride * index[j] + k] over begin <= j < end.

    k runs over ``vectors`` vectors, at most MOST_VECTORS. All arrays are flat.
    """
    arrays = (target, start, source, index, value)
    signature = types.void(
        target, types.intp, start, types.intp, source, types.intp, types.intp, index, value, *[types.intp] * 3
    )

    def codegen(context, builder, signature, args):
        target_at, start_at, source_at, index_at, value_at = (
            _data(context, builder, kind, args[i]) for kind, i in zip(arrays, (0, 2, 4, 7, 8), strict=True)
        )
        t0, s0, z0, stride, begin, end, vectors = (args[i] for i in (1, 3, 5, 6, 9, 10, 11))
        count, vector = _lane_count(target), _vector(context, target)
        pair = ir.VectorType(vector.element, 2 * count)
        to, start_from = builder.gep(target_at, [t0]), builder.gep(start_at, [s0])
        origin = builder.gep(source_at, [z0])

        def build(V: int) -> None:
            parts = [(2 * i * count, pair) for i in range(V // 2)] + [((V - 1) * count, vector)] * (V % 2)
            sums = [builder.load(_from(builder, start_from, *part), align=4) for part in parts]
            with _Loop(builder, begin, end, sums) as (j, sums, step):
                row = builder.zext(builder.load(builder.gep(index_at, [j])), t0.type)
                number = builder.load(builder.gep(value_at, [j]))
                factors = {kind: _in_all_lanes(builder, number, kind) for _, kind in parts}
                at = builder.gep(origin, [builder.mul(row, stride)])
                terms = [(factors[part[1]], builder.load(_from(builder, at, *part), align=4)) for part in parts]
                step.sums = [_fused(builder, *term, total) for term, total in zip(terms, sums, strict=True)]
            for part, total in zip(parts, step.results, strict=True):
                builder.store(total, _from(builder, to, *part), align=4)

        _switch(builder, vectors, range(1, MOST_VECTORS + 1), build)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def add_to_rows(typingctx, target, stride, source, s0, index, value, begin, end, vectors):
    """target[stride * index[j] + k] += value[j] * source[s0 + k] for begin <= j < end, k as in ``add_row``."""
    signature = types.void(target, types.intp, source, types.intp, index, value, *[types.intp] * 3)
    arrays = (target, source, index, value)

    def codegen(context, builder, signature, args):
        target_at, source_at, index_at, value_at = (
            _data(context, builder, kind, args[i]) for kind, i in zip(arrays, (0, 2, 4, 5), strict=True)
        )
        stride, s0, begin, end, vectors = (args[i] for i in (1, 3, 6, 7, 8))
        count, vector = _lane_count(target), _vector(context, target)
        start_from = builder.gep(source_at, [s0])

        def build(V: int) -> None:
            terms = [builder.load(_part(builder, start_from, i, count, vector), align=4) for i in range(V)]
            with _Loop(builder, begin, end, []) as (j, _, step):
                row = builder.zext(builder.load(builder.gep(index_at, [j])), stride.type)
                factor = _in_all_lanes(builder, builder.load(builder.gep(value_at, [j])), vector)
                at = builder.gep(target_at, [builder.mul(row, stride)])
                for i, x in enumerate(terms):
                    place = _part(builder, at, i, count, vector)
                    builder.store(_fused(builder, factor, x, builder.load(place, align=4)), place, align=4)
                step.sums = []

        _switch(builder, vectors, range(1, MOST_VECTORS + 1), build)
        return context.get_dummy_value()

    return signature, codegen


@intrinsic
def add_lane_products(typingctx, out, o0, oi, oj, left, l0, li, lq, right, r0, rj, rq, terms, wide):
    """out[i, j] += sum over q of left[i, q] * right[j, q], vector by vector, for a block of 2 x 5 or 1 x 1 (i, j).

    All arrays are flat. The vector out[i, j] starts at o0 + i oi + j oj, the others likewise; ``terms`` is the
    number of q; ``wide`` is 1 for the larger block.
    """
    signature = types.void(
        out, *[types.intp] * 3, left, *[types.intp] * 3, right, *[types.intp] * 3, types.intp, types.intp
    )

    def codegen(context, builder, signature, args):
        out_at, left_at, right_at = (
            _data(context, builder, kind, args[i]) for kind, i in ((out, 0), (left, 4), (right, 8))
        )
        (o0, oi, oj), (l0, li, lq), (r0, rj, rq) = args[1:4], args[5:8], args[9:12]
        terms, wide = args[12:]
        vector, zero = _vector(context, out), terms.type(0)

        def at(data, *offsets):
            place = offsets[0]
            for offset in offsets[1:]:
                place = builder.add(place, offset)
            return _vector_at(builder, data, place, vector)

        def build(block: int) -> None:
            down, across = (2, 5) if block else (1, 1)
            places = [
                at(out_at, o0, builder.mul(oi, terms.type(i)), builder.mul(oj, terms.type(j)))
                for i in range(down)
                for j in range(across)
            ]
            left_rows = [builder.add(l0, builder.mul(li, terms.type(i))) for i in range(down)]
            right_rows = [builder.add(r0, builder.mul(rj, terms.type(j))) for j in range(across)]
            with _Loop(builder, zero, terms, [builder.load(p, align=4) for p in places]) as (q, sums, step):
                lefts = [builder.load(at(left_at, row, builder.mul(q, lq)), align=4) for row in left_rows]
                rights = [builder.load(at(right_at, row, builder.mul(q, rq)), align=4) for row in right_rows]
                pairs = [(x, y) for x in lefts for y in rights]
                step.sums = [_fused(builder, x, y, total) for (x, y), total in zip(pairs, sums, strict=True)]
            for total, place in zip(step.results, places, strict=True):
                builder.store(total, place, align=4)

        _switch(builder, wide, range(2), build)
        return context.get_dummy_value()

    return signature, codegen


class _Loop:
    """A loop of LLVM over begin <= j < end that carries sums; its body sets ``step.sums``."""

    def __init__(self, builder, begin, end, sums):
        self.builder, self.begin, self.end, self.start = builder, begin, end, sums

    def __enter__(self):
        builder, before = self.builder, self.builder.block
        self.head, body, self.done = (builder.append_basic_block(name) for name in ("head", "body", "done"))
        builder.branch(self.head)
        builder.position_at_end(self.head)
        self.j = builder.phi(self.begin.type)
        self.j.add_incoming(self.begin, before)
        self.results = [builder.phi(total.type) for total in self.start]
        for phi, total in zip(self.results, self.start, strict=True):
            phi.add_incoming(total, before)
        builder.cbranch(builder.icmp_signed("<", self.j, self.end), body, self.done)
        builder.position_at_end(body)
        return self.j, self.results, self

    def __exit__(self, kind, error, trace):
        if error is None:
            builder = self.builder
            self.j.add_incoming(builder.add(self.j, self.j.type(1)), builder.block)
            for phi, total in zip(self.results, self.sums, strict=True):
                phi.add_incoming(total, builder.block)
            builder.branch(self.head)
            builder.position_at_end(self.done)


def _switch(builder, number, cases, build) -> None:
    """Build one block for every case of an integer; other integers do nothing."""
    done = builder.append_basic_block("end_of_cases")
    choice = builder.switch(number, done)
    for case in cases:
        block = builder.append_basic_block(f"case_{case}")
        choice.add_case(number.type(case), block)
        builder.position_at_end(block)
        build(case)
        builder.branch(done)
    builder.position_at_end(done)


def _lane_count(array) -> int:
    return REGISTER_BYTES * 8 // array.dtype.bitwidth


def _vector(context, array):
    return ir.VectorType(context.get_data_type(array.dtype), _lane_count(array))


def _data(context, builder, kind, value):
    return context.make_array(kind)(context, builder, value).data


def _part(builder, address, number: int, count: int, vector):
    return _from(builder, address, number * count, vector)


def _from(builder, address, offset: int, vector):
    return _vector_at(builder, address, ir.Constant(ir.IntType(64), offset), vector)


def _vector_at(builder, data, place, vector):
    return builder.bitcast(builder.gep(data, [place]), vector.as_pointer())


def _transposed(builder, rows: list) -> list:
    """A square of vectors, transposed by halving: pairs of rows a distance apart swap the halves of their lanes."""
    count, distance = len(rows), len(rows) // 2
    index = ir.VectorType(ir.IntType(32), count)
    while distance:
        swapped = list(rows)
        for i in range(count):
            if not i & distance:
                x, y = rows[i], rows[i + distance]
                lower = [j if not j & distance else count + j - distance for j in range(count)]
                upper = [j + distance if not j & distance else count + j for j in range(count)]
                swapped[i] = builder.shuffle_vector(x, y, ir.Constant(index, lower))
                swapped[i + distance] = builder.shuffle_vector(x, y, ir.Constant(index, upper))
        rows, distance = swapped, distance // 2
    return rows


def _in_all_lanes(builder, number, vector):
    empty, indices = ir.Constant(vector, ir.Undefined), ir.VectorType(ir.IntType(32), vector.count)
    first = builder.insert_element(empty, number, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, empty, ir.Constant(indices, [0] * vector.count))


def _fused(builder, x, y, total):
    return builder.fadd(total, builder.fmul(x, y, flags=_FUSED), flags=_FUSED)
