"""How docstrings of this project are read: sections as in numpydoc, each parameter on one line with what it means."""

from __future__ import annotations

import re
from typing import Any

import griffe

_SECTION = re.compile(r"^(Parameters|Attributes|Returns|Examples)\n-+\n", re.MULTILINE)
_FIELD = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*) : (.*(?:\n(?: +.*|$))*)", re.MULTILINE)
_EXAMPLE = re.compile(r"\n\n(?=>>> )")


class Docstrings(griffe.Extension):
    """Turn `name : what it means` into numpydoc's form, in which a type comes first and the meaning below it."""

    def on_object(self, *, obj: griffe.Object, **kwargs: Any) -> None:
        if obj.docstring:
            obj.docstring.value = rewritten(obj.docstring.value, str(getattr(obj, "returns", None) or "result"))


def rewritten(text: str, returns: str) -> str:
    """The docstring as griffe's parser of numpydoc expects it; `returns` is the type that the object returns."""
    if "Examples\n---" not in text:
        text = _EXAMPLE.sub("\n\nExamples\n--------\n", text, count=1)
    result, *sections = _SECTION.split(text)
    for title, content in zip(sections[::2], sections[1::2], strict=True):
        if title == "Returns" and not _FIELD.search(content):
            content = f"{returns}\n{_indented(content)}\n"
        elif title != "Examples":
            content = _FIELD.sub(_fields, content)
        result += f"{title}\n{'-' * len(title)}\n{content}\n"
    return result


def _fields(found: re.Match[str]) -> str:
    """One entry for each of the names, as each has its own type and default."""
    return "".join(f"{name}\n{_indented(found[2])}\n" for name in found[1].split(", "))


def _indented(text: str) -> str:
    return "\n".join(f"    {line.strip()}" for line in text.strip().splitlines())
