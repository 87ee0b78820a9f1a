"""Mirror-prox (Nemirovski 2004) for the uniform criterion: a saddle point of predictor and multipliers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, final

import torch
from torch import Tensor
from torch.optim import Optimizer

from pellucid import _checks, _processes
from pellucid.errors import InputError, Parameter
from pellucid.games import Game, UniformGame

_MAX_EXPONENT = 10.0
_MIN_MULTIPLIER, _MAX_MULTIPLIER = 1e-12, 1e12


@final
class MirrorProx:
    """Solves min over the predictor, max over the multipliers of task loss + `UniformGame` penalty.

    One step from (w, xi), with step size eta for the multipliers and violations v = D - margin:

        extrapolate   w' = step(w, grad L(w, xi)),      xi' = mirror(xi, eta v(w))
        step          w+ = step(w, grad L(w', xi')),    xi+ = mirror(xi, eta v(w'))

    Both moves start from (w, xi); the second uses the gradient of the extrapolated point. The predictor's
    `step` is that of any torch optimiser: with plain SGD this is mirror-prox exactly; an optimiser with a
    memory (momentum, Adam) sees both gradients. The multipliers' mirror maps are

        euclidean   xi -> max(xi + eta v, 0)          entropic   xi -> xi exp(eta v),

    the entropic one with |eta v| cut at 10 and multipliers kept between 1e-12 and 1e12, so that none overflows, or
    reaches 0, which it could never leave.

    Multipliers of neighborhoods that are not in the minibatch stay as they are. Learning-rate schedulers
    attach to the predictor's optimiser.

    Parameters
    ----------
    optimizer : Optimizer
        Torch optimiser of the predictor's parameters.
    game : UniformGame
        The `UniformGame` whose multipliers ascend.
    multiplier_lr : float, optional
        Eta > 0; by default 0.1 / margin (1 for a margin of 0): a multiplier rises by 0.1 a step where the deviation is
        twice the margin, whatever the units. Larger ones reach the margin sooner and swing more around it.
    mirror_map : {"euclidean", "entropic"}
        "euclidean" or "entropic".
    """

    def __init__(
        self,
        optimizer: Optimizer,
        game: Game,
        *,
        multiplier_lr: float | None = None,
        mirror_map: Literal["euclidean", "entropic"] = "euclidean",
    ) -> None:
        if not isinstance(game, UniformGame):
            raise InputError(
                f"{Parameter('game')} of MirrorProx must be a UniformGame",
                got=f"{game!r}",
                cure="other games need no MirrorProx",
                parameter="game",
            )
        if not isinstance(optimizer, Optimizer) or isinstance(optimizer, torch.optim.LBFGS):
            raise InputError(
                "`optimizer` of MirrorProx must be a torch optimiser that steps along one gradient, such "
                "as SGD or Adam",
                got=f"{type(optimizer).__name__}",
                parameter="optimizer",
            )
        if multiplier_lr is None:
            multiplier_lr = 0.1 / game.margin if game.margin else 1.0
        if not _checks.at_least(multiplier_lr, 0, "multiplier_lr", "MirrorProx"):
            raise InputError(
                "`multiplier_lr` of MirrorProx must be above 0",
                got="0",
                cure="the multipliers would never move",
                parameter="multiplier_lr",
            )
        if mirror_map not in ("euclidean", "entropic"):
            raise InputError(
                '`mirror_map` of MirrorProx must be "euclidean" or "entropic"',
                got=f"{mirror_map!r}",
                parameter="mirror_map",
            )
        if mirror_map == "entropic" and not bool((game.multipliers > 0).all()):
            raise InputError(
                "The entropic mirror map multiplies, so all multipliers must start above 0",
                cure="create the game with UniformGame(..., initial=1.0)",
            )
        if any(p is game.multipliers for group in optimizer.param_groups for p in group["params"]):
            raise InputError(
                "The predictor's optimiser must not hold the multipliers, which ascend: leave `game.parameters()` out"
            )
        self.optimizer, self.game = optimizer, game
        self.multiplier_lr, self.mirror_map = multiplier_lr, mirror_map

    def step(self, closure: Callable[[], Tensor]) -> Tensor:
        """Take one step and return the loss before it.

        `closure` computes the task loss plus the game's penalty on the present batch and returns it; it is
        called twice. Gradients are zeroed and computed here.
        """
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        start = [p.detach().clone() for p in parameters]
        multipliers = self.game.multipliers.detach().clone()
        loss, violations = self._gradients(closure)
        self._move(multipliers, violations)
        _, violations = self._gradients(closure)
        with torch.no_grad():
            for p, value in zip(parameters, start, strict=True):
                p.copy_(value)
        self._move(multipliers, violations)
        return loss

    def _gradients(self, closure: Callable[[], Tensor]) -> tuple[Tensor, Tensor]:
        """The loss, and the violations that its gradient leaves on the multipliers."""
        self.zero_grad()
        with torch.enable_grad():
            loss = closure()
            if not isinstance(loss, Tensor) or loss.numel() != 1 or not loss.requires_grad:
                raise InputError(
                    "The closure must return the loss as a scalar that has a gradient",
                    got=f"{loss!r}",
                    cure="return `task_loss + game(f, x, hoods).penalty` and leave `backward` to MirrorProx",
                )
            early_gradient: Tensor | None = self.game.multipliers.grad
            if early_gradient is not None:
                raise InputError(
                    "The closure must not call `backward`: MirrorProx does so", cure="return the loss only"
                )
            loss.backward()
        predictor = (p for group in self.optimizer.param_groups for p in group["params"])
        _processes.average_gradients([*predictor, self.game.multipliers])
        violations: Tensor | None = self.game.multipliers.grad
        if violations is None:
            raise InputError(
                "The closure's loss lacks the game's penalty", cure="return `task_loss + game(f, x, hoods).penalty`"
            )
        return loss.detach(), violations

    def _move(self, multipliers: Tensor, violations: Tensor) -> None:
        """Move the predictor by its gradient, and the multipliers by the violations from where they were."""
        self.optimizer.step()
        with torch.no_grad():
            if self.mirror_map == "euclidean":
                updated = (multipliers + self.multiplier_lr * violations).clamp(min=0.0)
            else:
                step = (self.multiplier_lr * violations).clamp(-_MAX_EXPONENT, _MAX_EXPONENT)
                updated = (multipliers * torch.exp(step)).clamp(_MIN_MULTIPLIER, _MAX_MULTIPLIER)
            self.game.multipliers.copy_(updated)

    def __repr__(self) -> str:
        return f"MirrorProx({type(self.optimizer).__name__}, {self.game!r}, {self.mirror_map})"

    def zero_grad(self) -> None:
        """Forget the gradients of the predictor and of the multipliers."""
        self.optimizer.zero_grad()
        self.game.multipliers.grad = None

    def state_dict(self) -> dict[str, Any]:
        """All that is needed to go on: the optimiser's state, the multipliers and the settings."""
        return {
            "optimizer": self.optimizer.state_dict(),
            "multipliers": self.game.multipliers.detach().clone(),
            "multiplier_lr": self.multiplier_lr,
            "mirror_map": self.mirror_map,
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from a saved state; the predictor's own parameters are restored by their module."""
        missing = {"optimizer", "multipliers", "multiplier_lr", "mirror_map"} - set(state)
        if missing:
            raise InputError("The state must be one that `state_dict()` gave", got=f"one without {sorted(missing)}")
        if state["multipliers"].shape != self.game.multipliers.shape:
            raise InputError(
                f"The saved state is of a game with {len(state['multipliers'])} neighborhoods. This one has "
                f"{len(self.game.multipliers)}",
                cure="make the game with the same `n_neighborhoods`",
            )
        self.optimizer.load_state_dict(state["optimizer"])
        with torch.no_grad():
            self.game.multipliers.copy_(state["multipliers"])
        self.multiplier_lr, self.mirror_map = state["multiplier_lr"], state["mirror_map"]
