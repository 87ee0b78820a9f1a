"""One run of `TableModel.fit`: its batches, and their losses."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple, final

import numpy as np
import torch
from torch import Tensor, nn

from pellucid import _processes
from pellucid.bank import Bank
from pellucid.errors import InputError
from pellucid.games import Game
from pellucid.named_games import stepper_of
from pellucid.neighborhoods import Neighborhoods
from pellucid.tabular.deciding import decide, require_some
from pellucid.tabular.encoding import Encoding
from pellucid.tabular.fitted import FittedTable
from pellucid.tabular.frames import Frame
from pellucid.tabular.neighborhoods import nearest_places, regular
from pellucid.tabular.network import NetworkFactory, TableNetwork
from pellucid.tabular.tasks import TableTask
from pellucid.training import Batches, Fit
from pellucid.training.fits import History

if TYPE_CHECKING:
    from pellucid.tabular.model import TableModel


class LabeledRows(NamedTuple):
    """Rows with what was measured."""

    frame: Frame
    y: np.ndarray
    """(N,) numbers or classes."""
    weights: np.ndarray | None = None
    """(N,) what each row counts."""
    numbers: np.ndarray | None = None
    """(N,) the number of each row in the table or file that it comes from; by default its place, the first being 1."""

    def select(self, index: np.ndarray) -> LabeledRows:
        """Some of the rows."""
        numbers = np.arange(1, len(self.y) + 1) if self.numbers is None else self.numbers
        weights = None if self.weights is None else self.weights[index]
        return LabeledRows(self.frame.select(index), self.y[index], weights, numbers[index])


class _Batch(NamedTuple):
    """Rows to learn from, and the members of the neighborhoods that play."""

    rows: Tensor
    members: Tensor | None
    """(b, m, P)."""


class _ValidationBatch(NamedTuple):
    rows: Tensor


@final
class TableFit(Fit[FittedTable]):
    """Batches and losses of one run.

    Parameters
    ----------
    model : TableModel
        The model whose settings are used.
    learned, held_out : LabeledRows
        The rows to learn from, and those to validate on, if any.
    target : str
        Name of what is predicted.
    network : NetworkFactory, optional
        Makes a predictor of the user's.
    """

    is_divisible = True

    def __init__(
        self,
        model: TableModel,
        learned: LabeledRows,
        held_out: LabeledRows | None,
        *,
        target: str,
        network: NetworkFactory | None = None,
    ) -> None:
        self.model, self.learned, self.held_out = model, learned, held_out
        self.weight_decay = model.weight_decay
        self.task = TableTask.of(
            model.task, _all_classes(model.task, learned, held_out), target, weights=learned.weights
        )
        columns = decide(learned.frame, learned.y)
        require_some(columns)
        self.encoding = Encoding.of(columns, learned.frame)
        self.codes = self.encoding.codes(learned.frame)
        exact = self.encoding.scaled(self.codes)
        self.x, self.y = exact.float(), self.task.inner(learned.y)
        self.weights = _tensor(learned.weights)
        self.own_network = network is not None
        self.network = model.new_network(encoding=self.encoding, task=self.task, factory=network)
        # As it is before training: what a resumed run must share.
        self.network_text = repr(self.network) if self.own_network else None
        _check_network(self.network, self.x, self.task)
        if isinstance(self.network, TableNetwork):
            self.network.prepare(self.x)
        self._set_up_play(exact)
        self.batches = Batches(self.take, len(self.x), size=model.batch_size, seed=model.seed)
        if held_out is not None:
            self.held_out_x = self.encoding.read(held_out.frame).float()
            self.held_out_y = self.task.inner(held_out.y)
            self.held_out_weights = _tensor(held_out.weights)
            self.validation = Batches(
                lambda chosen, _: _ValidationBatch(_processes.part(chosen)),
                len(held_out.frame),
                size=4096,
                seed=None,
            )

    def _set_up_play(self, exact: Tensor) -> None:
        model = self.model
        self.game: Game | None = model.new_game(len(self.x))
        self.bank: Bank | None = None
        if self.game is None:
            return
        self.nearest, _ = nearest_places(self.encoding.near(exact), model.neighbors)
        self.sampler = model.new_sampler(self.encoding)
        self.stepper = stepper_of(self.game, multiplier_rate=model.multiplier_rate)
        if model.play == "banked":
            places = np.concatenate([np.arange(len(self.x))[:, None], self.nearest], axis=1)
            members = torch.from_numpy(places)
            hoods = Neighborhoods.checked(
                members.flatten(),
                torch.arange(len(members) + 1) * members.shape[1],
                torch.arange(len(members)),
                len(members),
            )
            self.bank = Bank(self.game, self.x, hoods)
            with torch.no_grad(), _evaluating(self.network):
                self.bank.update(torch.cat([self._values(part) for part in self.x.split(4096)]))
        self.companion = self.bank if self.bank is not None else self.game if isinstance(self.game, nn.Module) else None

    def _values(self, x: Tensor) -> Tensor:
        return self.task.values(self.network(x))

    def take(self, index: Tensor, generator: torch.Generator) -> _Batch:
        """A batch to learn from; the first of its rows play, each with some neighbors and fresh sampled rows."""
        if self.game is None or self.bank is not None:
            return _Batch(_processes.part(index), None)
        centers = index[: max(round(self.model.share * len(index)), 1)]
        # Drawn for all processes, so that rows get the same neighborhoods however many there are.
        return _Batch(_processes.part(index), _processes.part(self._members(centers, generator)))

    def _members(self, centers: Tensor, generator: torch.Generator) -> Tensor:
        own, size = self.x[centers], self.model.members
        near = self.x[torch.from_numpy(self.nearest)[centers]]
        real = min(near.shape[1], size // 4)
        order = torch.rand(near.shape[:2], generator=generator).argsort(1)[:, :real]
        kept = near.gather(1, order[..., None].expand(-1, -1, near.shape[2]))
        fresh = self.sampler(own, near, size - 1 - real, generator)
        return torch.cat([own[:, None], kept, fresh], dim=1)

    def loss(self, batch: _Batch | _ValidationBatch) -> Mapping[str, Tensor]:
        """The terms of a batch's loss; in validation accuracy alone."""
        index = batch.rows.cpu()
        device = next(self.network.parameters(), torch.zeros(())).device
        if isinstance(batch, _ValidationBatch):
            outputs = self.network(self.held_out_x[index].to(device)).cpu()
            return {"loss": self.task.loss(outputs, self.held_out_y[index], _some(self.held_out_weights, index))}
        outputs = self.network(self.x[index].to(device)).cpu()
        fit = self.task.loss(outputs, self.y[index], _some(self.weights, index))
        penalty = self._penalty(batch, index, device)
        if penalty is None:
            return {"loss": fit}
        return {"loss": fit + penalty, "fit": fit, "penalty": penalty}

    def _penalty(self, batch: _Batch, index: Tensor, device: torch.device) -> Tensor | None:
        if self.game is None:
            return None
        # Without dropout, whose noise no witness could follow.
        with _evaluating(self.network):
            if self.bank is not None:
                return self.bank.penalty(self._values(self.x[index].to(device)).cpu(), index)
            if batch.members is None:
                return None
            members = batch.members.cpu()
            count, size, _ = members.shape
            points = members.flatten(0, 1)
            f = self._values(points.to(device)).cpu()
        hoods = regular(count, size)
        selected = Neighborhoods.checked(
            hoods.members, hoods.offsets, hoods.centers, hoods.n_points, selected=index[:count]
        )
        with _processes.counting_share(self.model.share):
            return self.game(f, points, selected).penalty

    def identity(self) -> Mapping[str, Any]:
        """Digests of the data and of the user's network."""
        digest = hashlib.sha256()
        for part in (part for part in (self.learned, self.held_out) if part is not None):
            digest.update(np.ascontiguousarray(self.encoding.codes(part.frame)).data)
            digest.update(self.task.inner(part.y).numpy().tobytes())
            digest.update(b"" if part.weights is None else np.ascontiguousarray(part.weights).data)
        return {"data": digest.hexdigest(), "network": self.network_text}

    def result(self, history: History) -> FittedTable:
        """The trained network, and the rows among which neighbors are looked for."""
        regression = self.task.kind == "regression"
        y = self.learned.y.astype(np.float64) if regression else self.y.numpy().astype(np.float64)
        numbers = np.arange(1, len(y) + 1) if self.learned.numbers is None else self.learned.numbers
        return FittedTable(
            network=self.network,
            history=history,
            encoding=self.encoding,
            task=self.task,
            own_network=self.own_network,
            rows={
                "codes": torch.from_numpy(self.codes),
                "y": torch.from_numpy(np.array(y)),
                "number": torch.from_numpy(np.array(numbers, dtype=np.int64)),
            },
            witness="linear" if self.model.witness == "auto" else self.model.witness,
            calibration=None,
            intervals=None,
            probabilities=None,
        )


@contextmanager
def _evaluating(network: nn.Module) -> Iterator[None]:
    training = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(training)


def _tensor(weights: np.ndarray | None) -> Tensor | None:
    return None if weights is None else torch.from_numpy(weights).float()


def _some(weights: Tensor | None, index: Tensor) -> Tensor | None:
    return None if weights is None else weights[index]


def _all_classes(kind: str, learned: LabeledRows, held_out: LabeledRows | None) -> np.ndarray:
    """What the task is made of: the classes of all rows, the numbers of those that are learned from."""
    if kind == "regression" or held_out is None:
        return learned.y
    return np.concatenate([learned.y, held_out.y])


def _check_network(network: Any, x: Tensor, task: TableTask) -> None:
    """Refuse a predictor of the user's that does not fit the table."""
    expected = f"a module from (rows, {x.shape[1]}) to (rows, {task.width})"
    if not isinstance(network, nn.Module):
        raise InputError(
            f"`network` must make {expected}", got=f"{type(network).__name__}", cure="pass a function of both numbers",
            parameter="network",
        )  # fmt: skip
    with torch.no_grad(), _evaluating(network):
        outputs = network(x[:2])
    shape = tuple(outputs.shape) if isinstance(outputs, Tensor) else type(outputs).__name__
    if not isinstance(outputs, Tensor) or (outputs.shape[0], outputs.shape[-1]) != (len(x[:2]), task.width):
        raise InputError(f"`network` must make {expected}", got=f"{shape} for two rows", parameter="network")
