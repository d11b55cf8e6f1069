"""A table x (S, d) as lists of its entries that are not zero, in the forms that ``dense_networks`` walks through.

Four fifths of MNIST's pixels are zero. A table without zeros is the list of all its entries.
"""

from typing import NamedTuple

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from cbo_pipeline.numerics.kernels.compiler import kernel

CHUNK = 96  # rows handled together: what a few networks make of them stays in the first-level cache
BLOCK = 112  # columns handled together: the weights of a few networks for them stay there too
COPIED = 8  # entries that are copied at a time


class Table(NamedTuple):
    """A table by rows: row s has, in the i-th block of columns, the entries from first[s, i] to first[s, i + 1].

    COPIED entries that belong to no row are the last: a copy may read beyond its end.
    """

    first: np.ndarray  # (S, blocks + 1), int64
    index: np.ndarray  # columns, uint32
    value: np.ndarray
    columns: int  # d
    shift: float = 0.0  # added to every number of the table, those that are not listed too


class Lists(NamedTuple):
    """Row r of chunk k has, in the i-th block of columns, the entries from first[k, i, r] to first[k, i, r + 1].

    They lie in the order in which they are read: chunk, block, row, column. Rows beyond the last are empty.
    """

    first: np.ndarray  # (chunks, blocks, CHUNK + 1), int64
    index: np.ndarray  # columns, uint32
    value: np.ndarray
    rows: int  # S
    columns: int  # d
    shift: float = 0.0  # added to every number of the table, those that are not listed too


class ColumnLists(NamedTuple):
    """The same entries by column: column p has, in chunk k of the rows, those from first[k, p] to first[k, p + 1]."""

    first: np.ndarray  # (chunks, d + 1), int64
    index: np.ndarray  # rows, counted from the first of their chunk, uint32
    value: np.ndarray


def table_of(x: np.ndarray, dtype, divisor: float = 1.0, shift: float = 0.0) -> Table:
    """The table x / divisor + shift; ``x`` may hold integers."""
    first = np.empty((len(x), -(-x.shape[1] // BLOCK) + 1), np.int64)
    size = _count(x, first)
    index, value = np.zeros(size + COPIED, np.uint32), np.zeros(size + COPIED, dtype)
    _fill(x, index, value)
    value /= value.dtype.type(divisor)
    return Table(first, index, value, x.shape[1], float(shift))


def lists(table: Table, rows: np.ndarray) -> Lists:
    """These rows of a table, in the order in which the networks read them."""
    first = np.empty((-(-len(rows) // CHUNK), table.first.shape[1] - 1, CHUNK + 1), np.int64)
    size = _place_rows(table.first, rows, first)
    index, value = np.empty(size + COPIED, np.uint32), np.empty(size + COPIED, table.value.dtype)
    _copy_rows(table.first, table.index, table.value, rows, first, index, value)
    return Lists(first, index[:size], value[:size], len(rows), table.columns, table.shift)


def permuted(table: Lists, order: np.ndarray) -> Lists:
    """The same rows in another order."""
    first, index, value = np.empty_like(table.first), np.empty_like(table.index), np.empty_like(table.value)
    _copy_in_order(table.first, table.index, table.value, order, first, index, value)
    return table._replace(first=first, index=index, value=value)


def by_column(table: Lists) -> ColumnLists:
    """The lists that the gradient of the inner layers needs."""
    first = np.empty((len(table.first), table.columns + 1), np.int64)
    index, value = np.empty(table.index.size, np.uint32), np.empty_like(table.value)
    _sort_by_column(table.first, table.index, table.value, first, index, value)
    return ColumnLists(first, index, value)


def dense(table: Lists) -> np.ndarray:
    """The whole table."""
    x = np.zeros((table.rows, table.columns), table.value.dtype)
    _spread(table.first, table.index, table.value, x)
    return x + x.dtype.type(table.shift)


@kernel
def _count(x, first):
    size = 0
    for s in range(len(x)):
        for p in range(x.shape[1]):
            if p % BLOCK == 0:
                first[s, p // BLOCK] = size
            size += x[s, p] != 0
        first[s, first.shape[1] - 1] = size
    return size


@kernel
def _fill(x, index, value):
    j = 0
    for s in range(len(x)):
        for p in range(x.shape[1]):
            if x[s, p] != 0:
                index[j], value[j] = p, x[s, p]
                j += 1


@kernel
def _place_rows(table_first, rows, first):
    size = 0
    for k in range(first.shape[0]):
        for i in range(first.shape[1]):
            for r in range(CHUNK):
                first[k, i, r] = size
                if k * CHUNK + r < len(rows):
                    at = table_first[rows[k * CHUNK + r]]
                    size += at[i + 1] - at[i]
            first[k, i, CHUNK] = size
    return size


@intrinsic
def _copy_some(typingctx, target, t0, source, s0):
    """target[t0 + i] = source[s0 + i] for 0 <= i < COPIED, as one vector."""

    def codegen(context, builder, signature, args):
        vector = ir.VectorType(context.get_data_type(target.dtype), COPIED)
        to, at = (
            builder.bitcast(builder.gep(context.make_array(kind)(context, builder, x).data, [i]), vector.as_pointer())
            for kind, x, i in ((target, *args[:2]), (source, *args[2:]))
        )
        builder.store(builder.load(at, align=4), to, align=4)
        return context.get_dummy_value()

    return types.void(target, types.intp, source, types.intp), codegen


@kernel
def _copy_rows(table_first, table_index, table_value, rows, first, index, value):
    """Some entries at a time, a few too many at the end of a list: what is copied next overwrites them."""
    for k in range(first.shape[0]):
        for i in range(first.shape[1]):
            for r in range(min(len(rows) - k * CHUNK, CHUNK)):
                at, to = table_first[rows[k * CHUNK + r]], first[k, i, r]
                for j in range(0, at[i + 1] - at[i], COPIED):
                    _copy_some(index, to + j, table_index, at[i] + j)
                    _copy_some(value, to + j, table_value, at[i] + j)


@kernel
def _copy_in_order(old_first, old_index, old_value, order, first, index, value):
    to = 0
    for k in range(first.shape[0]):
        for i in range(first.shape[1]):
            for r in range(CHUNK):
                first[k, i, r] = to
                if k * CHUNK + r < len(order):
                    s = order[k * CHUNK + r]
                    at = old_first[s // CHUNK, i]
                    for j in range(at[s % CHUNK], at[s % CHUNK + 1]):
                        index[to], value[to] = old_index[j], old_value[j]
                        to += 1
            first[k, i, CHUNK] = to


@kernel
def _sort_by_column(first, index, value, column_first, row, sorted_value):
    """A counting sort of every chunk; the rows of a column stay in ascending order."""
    blocks, columns = first.shape[1], column_first.shape[1] - 1
    place = np.empty(columns + 1, np.int64)
    for k in range(len(column_first)):
        begin = first[k, 0, 0]
        place[:] = 0
        for j in range(begin, first[k, blocks - 1, CHUNK]):
            place[index[j] + 1] += 1
        total = begin
        for p in range(columns + 1):
            total += place[p]
            place[p] = column_first[k, p] = total
        for i in range(blocks):
            for r in range(CHUNK):
                for j in range(first[k, i, r], first[k, i, r + 1]):
                    to = place[index[j]]
                    row[to], sorted_value[to] = r, value[j]
                    place[index[j]] = to + 1


@kernel
def _spread(first, index, value, x):
    for k in range(first.shape[0]):
        for i in range(first.shape[1]):
            for r in range(CHUNK):
                for j in range(first[k, i, r], first[k, i, r + 1]):
                    x[k * CHUNK + r, index[j]] = value[j]
