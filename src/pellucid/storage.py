"""Models on disk: a folder of JSON, safetensors and text. Nothing is pickled, so nothing that is loaded can run code.

A record says of each of its fields, once, in which form it is written and read:

    class FittedThing(StoredRecord):
        channels: tuple[str, ...] = stored(TEXTS)
        calibration: Calibration | None = stored(optional(Calibration))
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, final

from torch import Tensor

from pellucid.errors import InputError
from pellucid.schemas import SchemaError, Size, as_written, checked, json_of, shown
from pellucid.writing import replace_together

T = TypeVar("T")
FORMAT = 1
# The file of weights; other tensors are data.
_NETWORK = "network"


@final
@dataclass(frozen=True, kw_only=True, eq=False)
class Saved:
    """What the files of a model hold."""

    content: dict[str, Any] = field(default_factory=dict)
    """Of the JSON file."""
    tensors: dict[str, Mapping[str, Tensor]] = field(default_factory=dict)
    """By the name of their .safetensors file."""
    texts: dict[str, str] = field(default_factory=dict)
    """By the name of their file."""


# -- forms ---------------------------------------------------------------------------------------------------------


class Form(ABC, Generic[T]):
    """How a value is written, and read back."""

    @abstractmethod
    def write(self, name: str, value: T, saved: Saved) -> None:
        """Add the value of the field of this name to what is saved."""

    @abstractmethod
    def read(self, name: str, saved: Saved) -> T:
        """The value that `write` added."""


@final
@dataclass(frozen=True)
class Entry(Form[T]):
    """One entry of the JSON file, under the field's name unless there is another key."""

    encode: Callable[[T], Any]
    decode: Callable[[Any], T]
    key: str | None = None

    def write(self, name: str, value: T, saved: Saved) -> None:
        saved.content[self.key or name] = self.encode(value)

    def read(self, name: str, saved: Saved) -> T:
        return self.decode(saved.content[self.key or name])


@final
@dataclass(frozen=True)
class Entries(Form[T]):
    """Several entries of the JSON file."""

    encode: Callable[[T], Mapping[str, Any]]
    decode: Callable[[Mapping[str, Any]], T]
    """From the content of the whole file."""

    def write(self, name: str, value: T, saved: Saved) -> None:
        saved.content.update(self.encode(value))

    def read(self, name: str, saved: Saved) -> T:
        return self.decode(saved.content)


@final
@dataclass(frozen=True)
class TextFile(Form[T]):
    """A text file beside the JSON file."""

    file: str
    encode: Callable[[T], str]
    decode: Callable[[str], T]

    def write(self, name: str, value: T, saved: Saved) -> None:
        saved.texts[self.file] = self.encode(value)

    def read(self, name: str, saved: Saved) -> T:
        return self.decode(saved.texts[self.file])


@final
@dataclass(frozen=True)
class TensorFile(Form[Mapping[str, Tensor]]):
    """Named tensors in a .safetensors file beside the JSON file."""

    file: str
    """Its name, without the ending."""

    def write(self, name: str, value: Mapping[str, Tensor], saved: Saved) -> None:
        saved.tensors[self.file] = value

    def read(self, name: str, saved: Saved) -> Mapping[str, Tensor]:
        return saved.tensors[self.file]


class _Described(Protocol):
    """What can be written as JSON and read back."""

    def to_dict(self) -> Any: ...

    @classmethod
    def from_dict(cls, content: Any) -> Any: ...


def plain(kind: Any) -> Form[Any]:
    """What JSON has itself, of a type; see `pellucid.schemas.checked`."""
    return Entry(lambda value: value, lambda content: checked(kind, content))


WHOLE: Form[int] = Entry(int, lambda content: checked(Size, content))
TEXTS: Form[tuple[str, ...]] = Entry(list, lambda content: checked(tuple[str, ...], content))


def optional(kind: type[_Described]) -> Form[Any]:
    """A value with `to_dict` and `from_dict`, or None."""
    return Entry(
        lambda value: None if value is None else value.to_dict(),
        lambda content: None if content is None else kind.from_dict(content),
    )


def by_name(kind: type[_Described]) -> Form[Any]:
    """Values with `to_dict` and `from_dict`, each under a name."""
    return Entry(
        lambda values: {name: value.to_dict() for name, value in values.items()},
        lambda content: {name: kind.from_dict(value) for name, value in checked(dict[str, Any], content).items()},
    )


# -- records -------------------------------------------------------------------------------------------------------


def stored(form: Form[Any]) -> Any:
    """A field of a `StoredRecord` that is saved in this form."""
    return field(metadata={"form": form})


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredRecord:
    """A record whose fields say how they are saved; see `stored`."""

    def write(self, saved: Saved) -> None:
        """Add all stored fields to what is saved."""
        for name, form in _forms(type(self)):
            form.write(name, getattr(self, name), saved)

    @classmethod
    def read(cls, saved: Saved) -> dict[str, Any]:
        """The stored fields by name."""
        return {name: _read(form, name, saved) for name, form in _forms(cls)}

    @classmethod
    def text_files(cls) -> list[str]:
        """The text files that fields are saved in."""
        return [form.file for _, form in _forms(cls) if isinstance(form, TextFile)]

    @classmethod
    def tensor_files(cls) -> list[str]:
        """The files of tensors that fields are saved in."""
        return [form.file for _, form in _forms(cls) if isinstance(form, TensorFile)]

    @classmethod
    def upgraded(cls, content: dict[str, Any]) -> dict[str, Any]:
        """What an earlier version wrote as JSON, in the present form."""
        return content


def _read(form: Form[Any], name: str, saved: Saved) -> Any:
    try:
        return form.read(name, saved)
    except SchemaError as error:
        raise SchemaError(f"{name}: {error}") from None


def _forms(record: type[StoredRecord]) -> list[tuple[str, Form[Any]]]:
    return [(each.name, each.metadata["form"]) for each in fields(record) if "form" in each.metadata]


# -- files ---------------------------------------------------------------------------------------------------------


def save(folder: Path, name: str, saved: Saved) -> None:
    """Write `name`.json and the other files; what stood there before is replaced when all is written."""
    from safetensors.torch import save as as_bytes

    from pellucid import __version__

    if folder.is_file():
        raise InputError("A model is saved as a folder", got=f"{folder}, which is a file", cure="choose another folder")
    folder.mkdir(parents=True, exist_ok=True)
    content = json.dumps({"format": FORMAT, "pellucid": __version__, **saved.content}, indent=1) + "\n"
    files = {file: text.encode() for file, text in {**saved.texts, f"{name}.json": content}.items()}
    for group, values in saved.tensors.items():
        files[f"{group}.safetensors"] = as_bytes({key: value.contiguous() for key, value in values.items()})
    replace_together({folder / file: raw for file, raw in files.items()}, last=folder / f"{name}.json")


def load(folder: Path, name: str, *, tensors: list[str], texts: list[str]) -> Saved:
    """What `save` wrote: the content of the JSON file, and of the files of tensors and of text."""
    from safetensors.torch import load_file

    files = [f"{name}.json", *(f"{group}.safetensors" for group in tensors), *texts]
    absent = [file for file in files if not (folder / file).is_file()]
    if absent:
        raise InputError(
            f"A saved {name} is a folder with {' and '.join(files)}",
            got=f"{folder} without {absent[0]}",
            cure="pass the folder that `save` wrote",
        )
    with as_saved(folder):
        content = checked(dict[str, Any], json_of(folder / files[0]))
        written, version = content["format"], content["pellucid"]
        saved = Saved(
            content=content,
            tensors={group: load_file(folder / f"{group}.safetensors") for group in tensors},
            texts={file: (folder / file).read_text(encoding="utf-8") for file in texts},
        )
        for group, values in saved.tensors.items():
            _check_finite(values, blanks=group != _NETWORK)
    if written != FORMAT:
        raise InputError(
            f"The saved format must be {FORMAT}",
            got=f"{shown(written)}, written by Pellucid {shown(version)}",
            cure="use that version",
        )
    return saved


def _check_finite(tensors: Mapping[str, Tensor], *, blanks: bool) -> None:
    """Refuse weights that are not finite; data may have blanks, which are NaN."""
    for name, values in tensors.items():
        if values.is_complex() or (values.is_floating_point() and bool(_not_finite(values, blanks).any())):
            raise SchemaError(f"the {'values' if blanks else 'weights'} {shown(name)} are not finite")


def _not_finite(values: Tensor, blanks: bool) -> Tensor:
    return values.isinf() if blanks else ~values.isfinite()


@contextmanager
def as_saved(folder: Path) -> Iterator[None]:
    """Say of anything that goes wrong inside that the folder is not as `save` wrote it."""
    from safetensors import SafetensorError

    with as_written("The files of a saved model must be as they were saved", where=folder, cure="save the model again"):
        try:
            yield
        except SafetensorError as error:
            raise SchemaError(f"{error}") from error
