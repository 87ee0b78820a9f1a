"""The page itself: templates filled with text that is always escaped, styles and scripts inline."""

from __future__ import annotations

import base64
import hashlib
import json
from datetime import datetime
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pellucid.errors import InputError
from pellucid.report import numbers
from pellucid.report.charts import tone
from pellucid.writing import write_text

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


def render(template: str, **values: Any) -> Markup:
    """Fill one of the templates. Every value is text, unless it is `Markup`."""
    from markupsafe import Markup

    # The environment escapes everything that is not markup already.
    return Markup(_environment().get_template(template).render(**values))  # noqa: S704


def write_page(path: str | Path, template: str, **values: Any) -> Path:
    """Fill a template and write it as an HTML file."""
    path = Path(path)
    if path.is_dir():
        raise InputError("A report must be written to a file", got=f"the folder {str(path)!r}", cure="add a name to it")
    if not path.parent.is_dir():
        raise InputError("The folder of a report must exist", got=f"{str(path.parent)!r}", cure="create it first")
    write_text(path, render(template, **values))
    return path


def embed(data: Any) -> Markup:
    r"""Data as JSON inside a <script type="application/json">: no text in them can end the element.

    Examples
    --------
    >>> print(embed({"name": "</script><b>"}))
    {"name":"\u003c/script\u003e\u003cb\u003e"}
    """
    from markupsafe import Markup

    # Afterwards no character of the text is markup.
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    for sign in "<>&\u2028\u2029":
        text = text.replace(sign, f"\\u{ord(sign):04x}")
    return Markup(text)  # noqa: S704


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("pellucid.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        name: getattr(numbers, name) for name in ("number", "fixed", "percent", "change", "counted", "duration")
    } | {"day": _day, "coded": coded}
    environment.globals |= {"asset": _asset, "digest": _digest, "tone": tone}
    return environment


def coded(sentence: str) -> Markup:
    """A sentence in which words between two backticks are code, everything else as it is.

    Examples
    --------
    >>> print(coded("`a < b` holds"))
    <span class="code">a &lt; b</span> holds
    """
    from markupsafe import Markup, escape

    parts = sentence.split("`")
    if len(parts) % 2 == 0:  # one of them is a sign of its own
        return escape(sentence)
    span = Markup('<span class="code">{}</span>')
    return Markup("").join(span.format(part) if i % 2 else escape(part) for i, part in enumerate(parts))


def _asset(name: str) -> Markup:
    """One of the styles or scripts of the package, unescaped: it holds no text of users."""
    from markupsafe import Markup

    text = files("pellucid.report").joinpath("templates", name).read_text(encoding="utf-8")
    return Markup(text)  # noqa: S704


def _digest(script: str) -> str:
    """The hash by which the content security policy of the page allows its script, and no other."""
    return f"sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}"


def _day(moment: str) -> str:
    """A moment in ISO format as a date and a time; other texts as they are."""
    try:
        return f"{datetime.fromisoformat(moment):%d %B %Y, %H:%M %Z}".strip().lstrip("0")
    except ValueError:
        return moment
