"""What the documentation takes from elsewhere in the project, so that nothing is copied by hand.

The pages of paper/README.md, of the benchmarks and of the example notebooks are made here when the site is built.
"""

from __future__ import annotations

import html
import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))
from benchmarks.run import table  # noqa: E402 - after the path to it
from paper.runs import read_section  # noqa: E402

NOTEBOOKS = ("any_model", "molecules")
BENCHMARKS = {"core": "The core", "nearest": "Nearest points", "molecules": "Molecules", "startup": "Starting up"}
_INCLUDED = re.compile(r"<!-- include: (.+?) -->")
_OPTIONS = re.compile(r"<!-- options: (.+?) -->")
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)#]+\.(?:png|svg))\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the pages that are made here, and the pictures they show."""
    study = (ROOT / "paper" / "README.md").read_text()
    pages = {"reproduction.md": reproduction(study), "benchmarks.md": benchmarks()}
    pages |= {f"examples/{name}.md": notebook(ROOT / "examples" / f"{name}.ipynb") for name in NOTEBOOKS}
    for name, content in pages.items():
        files.append(File.generated(config, name, content=content))
    for name in _PICTURE.findall(study):
        files.append(File.generated(config, f"paper/{name}", abs_src_path=str(ROOT / "paper" / name)))
    for name in NOTEBOOKS:
        path = ROOT / "examples" / f"{name}.ipynb"
        files.append(File.generated(config, f"examples/{name}.ipynb", abs_src_path=str(path)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Fill in tables; links that lead to files of the project in its repository lead to their pages on the site."""
    markdown = _INCLUDED.sub(lambda found: section(found[1]), markdown)
    markdown = _OPTIONS.sub(lambda found: options(found[1].split()), markdown)
    markdown = re.sub(r"\]\(\.\./examples/(\w+)\.ipynb\)", r"](examples/\1.md)", markdown)
    return markdown.replace("](../paper/README.md", "](reproduction.md")


def section(name: str) -> str:
    """What stands between `<!-- name -->` and `<!-- end of name -->` in the README, the study or the pages."""
    for path in (ROOT / "README.md", ROOT / "paper" / "README.md", ROOT / "docs" / "series.md"):
        if (text := read_section(path, name)) is not None:
            return text
    raise ValueError(f"no page has a section {name!r}")


def options(words: list[str]) -> str:
    """The arguments and options of a command, as a table."""
    import typer

    from pellucid.cli import command_line

    command: Any = typer.main.get_command(command_line())
    for word in words:
        command = command.commands[word]
    lines = ["| option | meaning | default |", "|---|---|---|"]
    for parameter in command.params:
        if parameter.name == "help" or getattr(parameter, "hidden", False):
            continue
        names = ", ".join([*parameter.opts, *parameter.secondary_opts])
        if parameter.param_type_name == "argument":
            names = parameter.metavar or parameter.human_readable_name.upper()
        meaning = getattr(parameter, "help", None) or ""
        lines.append(f"| `{_cell(names)}` | {_cell(html.escape(meaning))} | {_cell(_default(parameter))} |")
    return "\n".join(lines)


def _default(parameter: Any) -> str:
    if isinstance(shown := getattr(parameter, "show_default", None), str):
        return shown
    if parameter.required or parameter.default in (None, [], ()) or isinstance(parameter.default, bool):
        return ""
    value = parameter.default
    return f"`{getattr(value, 'value', value)}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def reproduction(study: str) -> str:
    """The report in paper/README.md, with links and pictures as seen from the top of the site."""
    study = study.replace("](../docs/", "](")
    return _PICTURE.sub(lambda found: found[0].replace(f"]({found[1]}", f"](paper/{found[1]}"), study)


def benchmarks() -> str:
    """The tables of benchmarks/*.json."""
    page = [
        "# Benchmarks",
        "The game should cost almost nothing beside the predictor. Everything is measured against what one would "
        "otherwise write, both sides taking turns in one process. `make bench` measures it anew.",
    ]
    for name, title in BENCHMARKS.items():
        report = json.loads((ROOT / "benchmarks" / f"{name}.json").read_text())
        page += [f"## {title}", table(report)]
    page.append(
        "The fingerprints of the core's trees are synthetic: fragments that switch groups of bits on and off. How the "
        "games compare in the paper's own setting: [training speed](reproduction.md#training-speed)."
    )
    return "\n\n".join(page) + "\n"


def notebook(path: Path) -> str:
    """A notebook with the outputs that are saved in it, as a page."""
    page = []
    for cell in json.loads(path.read_text())["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            page.append(source.replace("](../paper/README.md", "](../reproduction.md").replace("](../docs/", "](../"))
        elif source.strip():
            page.append(f"```python\n{source}\n```")
            page += [shown for output in cell["outputs"] if (shown := _output(output))]
    page.append(f"[The notebook itself]({path.name})")
    return "\n\n".join(page) + "\n"


def _output(output: dict[str, Any]) -> str:
    """The richest form of an output that a page can show."""
    if output["output_type"] == "stream":
        return f"```\n{''.join(output['text']).rstrip()}\n```"
    data = {
        kind: "".join(content) for kind, content in output.get("data", {}).items() if isinstance(content, list | str)
    }
    if "text/html" in data or "image/svg+xml" in data:
        # In a shadow tree of its own: it takes color and font from the page, and no other style.
        content = " ".join((data.get("text/html") or data["image/svg+xml"]).split())
        return f'<div class="output"><template shadowrootmode="open">{content}</template></div>'
    if "image/png" in data:
        return f'<img alt="output" src="data:image/png;base64,{data["image/png"].strip()}">'
    return f"```\n{data['text/plain'].rstrip()}\n```" if "text/plain" in data else ""
