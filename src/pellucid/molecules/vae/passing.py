"""Messages through trees: the formulas, and the same as one operation whose gradient is written out."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import linear

from pellucid.molecules.network import sums
from pellucid.molecules.vae.batches import MessagePass


def new_messages(
    features: Tensor, arrived: Tensor, reset: Tensor, target: Tensor, update: Tensor, fresh: Tensor
) -> Tensor:
    """(n, width) messages from n nodes, computed from those that have arrived; see `TreeMessages`.

    Parameters
    ----------
    features : Tensor
        (n, 3 width) W_r x, W_z x and W x of the nodes.
    arrived, reset : Tensor
        (arrived, width) messages h that have arrived, and U_r h.
    target : Tensor
        (arrived,) index of the node at which each has.
    update, fresh : Tensor
        (width, width) the weights U_z and U.
    """
    w_r, w_z, w = features.chunk(3, dim=1)
    total = sums(arrived, target, len(features))
    kept = sums(torch.sigmoid(w_r.index_select(0, target) + reset) * arrived, target, len(features))
    z = torch.sigmoid(w_z + linear(total, update))
    return (1 - z) * total + z * torch.tanh(w + linear(kept, fresh))


def plain_messages(features: Tensor, reset: Tensor, update: Tensor, fresh: Tensor, order: MessagePass) -> Tensor:
    """(E, width) messages of a pass, by the formulas.

    Parameters
    ----------
    features : Tensor
        (T, 3 width) W_r x, W_z x and W x of all nodes.
    reset, update, fresh : Tensor
        (width, width) the weights U_r, U_z and U.
    order : MessagePass
        The order of the messages.
    """
    messages = resets = features.new_zeros(0, len(reset))
    for level in order.levels:
        part = slice(level.first, level.last)
        target, origin = order.target[part] - level.begin, order.origin[part]
        # index_select, whose gradient is a plain sum, rather than indexing, whose gradient is slow
        sources = order.sources[level.begin : level.end]
        arrived, gates = messages.index_select(0, origin), resets.index_select(0, origin)
        h = new_messages(features.index_select(0, sources), arrived, gates, target, update, fresh)
        messages, resets = torch.cat([messages, h]), torch.cat([resets, linear(h, reset)])
    return messages


def pass_messages(features: Tensor, reset: Tensor, update: Tensor, fresh: Tensor, order: MessagePass) -> Tensor:
    """`plain_messages`, on the CPU up to rounding and in less time."""
    if features.device.type != "cpu":
        return plain_messages(features, reset, update, fresh, order)
    messages: Tensor = _Messages.apply(features, reset, update, fresh, order)  # type: ignore[no-untyped-call]
    return messages


class _Messages(torch.autograd.Function):
    """A level holds few messages, so its small operations cost more than its arithmetic.

    Everything is written in place, and what does not depend on the order of the levels is done for all of them at
    once: above all the gradients of the weights. What always goes together stands side by side in one tensor:
    [h, U_r h], and [s, k] with k = sum_k r_k h_k.
    """

    @staticmethod
    def forward(ctx: Any, features: Tensor, reset: Tensor, update: Tensor, fresh: Tensor, order: MessagePass) -> Tensor:
        width, count = len(reset), len(order.sources)
        rows, pairs = _sizes(order)
        r, z, c = (part.contiguous() for part in features.index_select(0, order.sources).chunk(3, dim=1))
        r = r.index_select(0, order.target)
        state, reached = features.new_empty(count, 2 * width), features.new_zeros(count, 2 * width)
        arriving = features.new_empty(len(order.target), 2 * width)
        messages, resets = state.split(width, dim=1)
        total, kept = reached.split(width, dim=1)
        for h, u, s, k, z_, c_, r_, a, origin, target in zip(
            *(rowwise.split(rows) for rowwise in (messages, resets, total, kept, z, c)),
            *(pairwise.split(pairs) for pairwise in (r, arriving, order.origin, order.target)),
            strict=True,
        ):
            if len(a):
                torch.index_select(state, 0, origin, out=a)
                old, gated = a.split(width, dim=1)
                torch.mul(r_.add_(gated).sigmoid_(), old, out=gated)
                reached.index_add_(0, target, a)
                z_.addmm_(s, update.T)
                c_.addmm_(k, fresh.T)
            torch.lerp(s, c_.tanh_(), z_.sigmoid_(), out=h)
            torch.mm(h, reset.T, out=u)
        result: Tensor = messages.contiguous()
        ctx.order, ctx.nodes = order, len(features)
        ctx.save_for_backward(features, reset, update, fresh, result, reached, arriving, r, z, c)
        return result

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, ...]:
        features, reset, update, fresh, messages, reached, arriving, r, z, c = ctx.saved_tensors
        order: MessagePass = ctx.order
        if torch.is_grad_enabled():  # the gradient is to be differentiated again
            return *_plain_gradients((features, reset, update, fresh), order, gradient), None
        width, count = len(reset), len(order.sources)
        rows, pairs = _sizes(order)
        total, kept = reached.split(width, dim=1)
        # By the message: derivatives with respect to s itself, and to what z and tanh are taken of.
        by_s = 1 - z
        by_z, by_c = by_s * z * (c - total), z * (1 - c * c)
        by_r = arriving[:, width:] * (1 - r)
        # Gradients: of [h, U_r h]; of [s, k]; of what z, tanh and r are taken of.
        states, reaching = torch.cat([gradient, torch.zeros_like(gradient)], dim=1), torch.empty_like(reached)
        for h, u, both, d_z, d_c, d_s, d_r, r_, origin, target in reversed(
            list(
                zip(
                    *(rowwise.split(rows) for rowwise in (*states.split(width, dim=1), reaching, by_z, by_c, by_s)),
                    *(pairwise.split(pairs) for pairwise in (by_r, r, order.origin, order.target)),
                    strict=True,
                )
            )
        ):
            h.addmm_(u, reset)
            d_z *= h
            d_c *= h
            if len(r_):
                d_s *= h
                s, k = both.split(width, dim=1)
                torch.addmm(d_s, d_z, update, out=s)
                torch.mm(d_c, fresh, out=k)
                sent = reaching.index_select(0, target)
                old, gated = sent.split(width, dim=1)
                d_r *= gated
                old.addcmul_(r_, gated)
                gated.copy_(d_r)
                states.index_add_(0, origin, sent)
        d_resets = states[:, width:]
        given = torch.cat([sums(by_r, order.target, count), by_z, by_c], dim=1)
        return (
            sums(given, order.sources, ctx.nodes),
            d_resets.T @ messages,
            by_z.T @ total,
            by_c.T @ kept,
            None,
        )


def _sizes(order: MessagePass) -> tuple[list[int], list[int]]:
    """The numbers of messages of all levels, and of pairs."""
    return [level.end - level.begin for level in order.levels], [level.last - level.first for level in order.levels]


def _plain_gradients(inputs: tuple[Tensor, ...], order: MessagePass, gradient: Tensor) -> tuple[Tensor | None, ...]:
    wanted = [tensor for tensor in inputs if tensor.requires_grad]
    features, reset, update, fresh = inputs
    messages = plain_messages(features, reset, update, fresh, order)
    found = iter(torch.autograd.grad(messages, wanted, gradient, create_graph=True))
    return tuple(next(found) if tensor.requires_grad else None for tensor in inputs)
