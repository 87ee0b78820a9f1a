"""What the site takes from elsewhere in the project, beyond includes: options of commands, the study, and links.

A link that leads to a file in the repository leads to its page on the site.
"""

from __future__ import annotations

import html
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

STUDY = Path(__file__).parents[1] / "paper" / "README.md"
_OPTIONS = re.compile(r"<!-- options: (.+?) -->")
_PICTURE = re.compile(r"!\[[^]]*\]\(([^)#]+\.(?:png|svg))\)")


def on_files(files: Files, config: Any) -> Files:
    """Add the study, with links as seen from the top of the site, and the pictures that it shows."""
    study = STUDY.read_text(encoding="utf-8").replace("](../docs/", "](")
    pictures = _PICTURE.findall(study)
    study = _PICTURE.sub(lambda link: link[0].replace(f"]({link[1]}", f"](paper/{link[1]}"), study)
    files.append(File.generated(config, "reproduction.md", content=study))
    for name in pictures:
        files.append(File.generated(config, f"paper/{name}", abs_src_path=str(STUDY.parent / name)))
    return files


def on_page_markdown(markdown: str, page: Page, config: Any, files: Files) -> str:
    """Fill in the options of commands."""
    markdown = _OPTIONS.sub(lambda mark: options(mark[1].split()), markdown)
    return markdown.replace("](../paper/README.md", "](reproduction.md")


def on_page_content(content: str, page: Page, config: Any, files: Files) -> str:
    """Links of notebooks, which are no Markdown to mkdocs."""
    if not page.file.src_uri.endswith(".ipynb"):
        return content
    content = content.replace('href="../../paper/README.md', 'href="../reproduction.html')
    return re.sub(r'href="(\.\./\w+)\.md', r'href="\1.html', content)


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
