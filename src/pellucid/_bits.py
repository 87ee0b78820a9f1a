"""Bits of machine words, as single instructions of the processor inside compiled kernels."""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.extending import intrinsic


@intrinsic
def ones(_, word):
    """How many bits are set."""
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.ctpop(args[0])


@intrinsic
def lowest(_, word):
    """The place of the lowest bit that is set; the word must not be 0."""
    never_zero = ir.Constant(ir.IntType(1), 1)
    return types.uint64(types.uint64), lambda context, builder, signature, args: builder.cttz(args[0], never_zero)
