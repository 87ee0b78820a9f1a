"""The content of checkpoints, checked to be that of the run before Lightning and torch restore anything from it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, nn

from pellucid.schemas import Between, Measured, SchemaError, Size, checked, shown

# What a schedule and an optimizer change as they go; all else of their states follows from the settings.
_OF_SCHEDULE = ("last_epoch", "_step_count", "_last_lr", "_get_lr_called_within_step", "_is_initial")
_OF_OPTIMIZER = ("lr", "betas")
# What Adam remembers of each parameter.
_MOMENTS = {"step", "exp_avg", "exp_avg_sq"}
# What optimizer and schedule read in every step; for other settings that are absent torch has defaults.
_SETTINGS = {"lr", "betas", "eps", "weight_decay", "initial_lr", "max_lr", "min_lr"}


def network_state(content: Any, network: nn.Module) -> dict[str, Tensor]:
    """The weights of the network in a checkpoint."""
    state = checked(dict[str, Any], _mapping(content, "it").get("state_dict"), "state_dict")
    weights = {name.removeprefix("network."): value for name, value in state.items() if name.startswith("network.")}
    _check_tensors(weights, network.state_dict(), finite=True)
    return weights


def check_checkpoint(
    content: Any, module: nn.Module, optimizer: torch.optim.Optimizer, schedule: Any, *, epochs: int, batches: int
) -> None:
    """Refuse the content of a checkpoint from which this run cannot be resumed.

    Parameters
    ----------
    content : object
        What was read.
    module : Module
        What is trained.
    optimizer, schedule : object
        Those of the run, as it begins.
    epochs, batches : int
        The most epochs, and the batches of each.
    """
    _mapping(content, "it")
    most = Between(0, 100 + 10 * epochs * (batches + 1))
    for name in ("epoch", "global_step"):
        most.check(checked(int, content[name], name), name)
    _check_tensors(content["state_dict"], module.state_dict(), finite=False)
    network_state(content, module.network)  # type: ignore[arg-type]
    _check_counts(content["loops"], most, "loops")
    (state,) = _sequence(content["optimizer_states"], "optimizer_states")
    _check_optimizer(_mapping(state, "optimizer_states"), optimizer)
    (state,) = _sequence(content["lr_schedulers"], "lr_schedulers")
    _check_schedule(_mapping(state, "lr_schedulers"), schedule.state_dict(), most)
    for name, state in _mapping(content["callbacks"], "callbacks").items():
        if name == "_Keeper":
            Between(0, epochs).check(checked(int, state["epoch"], "epoch"), "epoch")
            Between(0, batches).check(checked(int, state["position"], "position"), "position")
        elif name == "_History":
            checked(list[dict[str, int | Measured]], state["epochs"], "epochs")
            checked(Size, state["items"], "items")
            checked(dict[str, Measured], state["sums"], "sums")
        elif name == "_Best":
            checked(Measured | None, state["score"], "score")
            checked(Size, state["waited"], "waited")
            checked(bool, state["ended"], "ended")


def _check_tensors(state: Any, expected: Mapping[str, Tensor], *, finite: bool) -> None:
    """Refuse other names, shapes or types, and weights that are not finite."""
    state = _mapping(state, "state_dict")
    # Buffers of a bank are empty until it has been fitted; it compares their sizes itself.
    late = {name for name in {*state} ^ {*expected} if str(name).rpartition(".")[2] in ("predictions", "fitted_to")}
    if {*state} - late != {*expected} - late:
        name = min(map(str, ({*state} ^ {*expected}) - late))
        raise SchemaError(f"the weights {shown(name)} are {'absent' if name in expected else 'of another network'}")
    for name in late & {*state}:
        if not isinstance(state[name], Tensor) or not state[name].is_floating_point() or state[name].is_sparse:
            raise SchemaError(f"the weights {shown(name)} are not a tensor of numbers")
    for name, values in expected.items():
        if name in late:
            continue
        _check_tensor(state[name], values.shape, f"the weights {name!r}", dtype=values.dtype, finite=finite)


def _check_tensor(value: Any, shape: Sequence[int], where: str, *, dtype: torch.dtype, finite: bool) -> None:
    if not isinstance(value, Tensor) or value.shape != torch.Size(shape) or value.dtype != dtype or value.is_sparse:
        raise SchemaError(f"{where} are not a tensor of the shape {tuple(shape)} and type {dtype}")
    if finite and value.is_floating_point() and not torch.isfinite(value).all():
        raise SchemaError(f"{where} are not finite")


def _check_counts(content: Any, most: Between, where: str) -> None:
    """Refuse numbers of steps and epochs that no run can have made."""
    if isinstance(content, Mapping | list):
        for value in content.values() if isinstance(content, Mapping) else content:
            _check_counts(value, most, where)
    elif content is not None and not isinstance(content, bool):
        most.check(checked(int, content, where), where)


def _check_optimizer(state: Mapping[str, Any], optimizer: torch.optim.Optimizer) -> None:
    fresh = optimizer.state_dict()
    groups = _sequence(state["param_groups"], "param_groups")
    parameters = [parameter for group in optimizer.param_groups for parameter in group["params"]]
    for group, expected in zip(groups, fresh["param_groups"], strict=True):
        absent = (_SETTINGS & expected.keys()) - _mapping(group, "param_groups").keys()
        if absent:
            raise SchemaError(f"param_groups.{min(absent)} is absent")
        checked(float, group["lr"], "lr")
        for beta in _sequence(group["betas"], "betas"):
            Between(0, 1).check(checked(float, beta, "betas"), "betas")
        _check_same(group, expected, _OF_OPTIMIZER, "param_groups")
    for number, values in _mapping(state["state"], "state").items():
        shape = parameters[checked(Size, number, "state")].shape
        absent = _MOMENTS - _mapping(values, "state").keys()
        if absent:
            raise SchemaError(f"the moments {min(absent)!r} are absent")
        for name, value in values.items():
            kind = value.dtype if isinstance(value, Tensor) and value.is_floating_point() else torch.float32
            _check_tensor(value, () if name == "step" else shape, f"the moments {name!r}", dtype=kind, finite=True)
            if name in ("step", "exp_avg_sq") and bool((value < 0).any()):
                raise SchemaError(f"the moments {name!r} are negative")


def _check_schedule(state: Mapping[str, Any], expected: Mapping[str, Any], most: Between) -> None:
    for name in ("last_epoch", "_step_count"):
        most.check(checked(int, state[name], name), name)
    checked(tuple[float, ...], state["_last_lr"], "_last_lr")
    _check_same(state, expected, _OF_SCHEDULE, "lr_schedulers")


def _check_same(state: Any, expected: Mapping[str, Any], but: Sequence[str], where: str) -> None:
    """Refuse settings other than those of the run; those that another version of torch does not have are no matter."""
    for name, value in _mapping(state, where).items():
        if name in expected and name not in but and _plain(value) != _plain(expected[name]):
            raise SchemaError(f"{where}.{name} is {shown(value)}, not {shown(expected[name])}")


def _plain(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _mapping(content: Any, where: str) -> Mapping[Any, Any]:
    if not isinstance(content, Mapping):
        raise SchemaError(f"{where} is {shown(type(content).__name__)}, not a mapping")
    return content


def _sequence(content: Any, where: str) -> Sequence[Any]:
    if not isinstance(content, list | tuple):
        raise SchemaError(f"{where} is {shown(type(content).__name__)}, not a list")
    return content
