"""The documentation builds without a warning, asks nothing of other servers, and names everything that is public."""

import html
import importlib.util
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from paper.runs import read_section

pytestmark = pytest.mark.docs

ROOT = Path(__file__).parents[1]
PUBLIC = ("pellucid", "pellucid.series", "pellucid.molecules", "pellucid.molecules.vae")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = os.environ | {"NO_MKDOCS_2_WARNING": "1"}
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT, env=environment)  # noqa: S603
    assert done.returncode == 0, done.stderr
    assert not done.stderr + done.stdout  # not even a remark
    return folder


def test_nothing_is_fetched_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 15
    for page in pages:
        fetched = re.findall(r'<(?:script|img|iframe|source)\b[^>]*\bsrc="([^"]+)"', page.read_text())
        fetched += [
            re.search(r'href="([^"]*)"', link)[1]
            for link in re.findall(r"<link\b[^>]*>", page.read_text())
            if 'rel="stylesheet"' in link or 'rel="icon"' in link or 'rel="preconnect"' in link
        ]
        assert fetched
        assert not [address for address in fetched if re.match(r"(https?:)?//", address)], page.name
    for sheet in site.rglob("*.css"):
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", sheet.read_text()), sheet.name


@pytest.mark.parametrize("module", PUBLIC)
def test_every_public_name_is_in_the_reference(site, module):
    text = "".join(page.read_text() for page in (site / "api").glob("*.html"))
    documented = set(re.findall(r'<h\d id="([\w.]+)"', text))
    names = importlib.import_module(module).__all__
    assert names
    missing = {n for n in names if not {f"{module}.{n}", f"{module}.{n}.{n}"} & documented}
    assert not missing


def test_the_study_is_shown_with_its_tables_and_pictures(site):
    shown = html.unescape((site / "reproduction.html").read_text())
    written = (ROOT / "paper" / "README.md").read_text()
    for title in re.findall(r"^### (Table \d)$", written, flags=re.MULTILINE):
        assert re.search(rf"<h3[^>]*>{title}<", shown)
    pictures = re.findall(r"!\[[^]]*\]\(([^)]+)\)", written)
    assert pictures
    for picture in pictures:
        assert f'src="paper/{picture}"' in shown
        assert (site / "paper" / picture).read_bytes() == (ROOT / "paper" / picture).read_bytes()


def command_of(words):
    """The command that a line of words starts with, and the options that the line names."""
    from pellucid.cli import command_line

    command, named = typer.main.get_command(command_line()), []
    while hasattr(command, "commands"):
        word = words.pop(0)
        assert word in command.commands, f"no command {word!r} in {named}"
        command, named = command.commands[word], [*named, word]
    return command, {word.partition("=")[0] for word in words if re.match(r"--?[a-z]", word)}


def shell_lines():
    """What the pages say one should type."""
    for page in sorted((ROOT / "docs").glob("*.md")):
        for block in re.findall(r"```bash\n(.*?)```", page.read_text(), flags=re.DOTALL):
            yield from (line for line in block.splitlines() if line.startswith("pellucid "))


def test_the_commands_of_the_pages_exist_with_their_options():
    lines = list(shell_lines())
    assert len(lines) > 15
    for line in lines:
        command, given = command_of(shlex.split(line, comments=True)[1:])
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        assert given <= known, line


def test_every_command_has_its_place_on_the_page(site):
    from pellucid.cli import command_line

    page = (site / "commands.html").read_text()
    for name in typer.main.get_command(command_line()).commands:
        assert f'<h2 id="{name}">' in page


def article(page):
    return page.read_text().partition("<article")[2].partition("</article>")[0]


def test_every_table_is_filled_in(site):
    for page in ("choosing", "commands", "index", "molecules"):
        assert not re.search(r"<!-- (options|include)|--8<--", article(site / f"{page}.html")), page


@pytest.mark.parametrize(
    ("page", "source", "mark"),
    [
        ("index", ROOT / "README.md", "demo"),
        ("choosing", ROOT / "paper" / "README.md", "nav17: table"),
        ("choosing", ROOT / "docs" / "series.md", "weights"),
        ("benchmarks", ROOT / "benchmarks" / "README.md", None),
    ],
)
def test_sections_of_other_pages_are_shown_where_they_are_included(site, page, source, mark):
    """Every number of the section stands on the page, in its order."""
    section = source.read_text() if mark is None else read_section(source, mark)
    shown = html.unescape(re.sub(r"<[^>]+>", " ", article(site / f"{page}.html")))
    numbers = re.findall(r"\d+\.\d+", section)
    assert len(numbers) > 5
    assert " ".join(numbers) in " ".join(re.findall(r"\d+\.\d+", shown))


def test_the_options_of_every_command_are_told_with_their_defaults(site):
    from pellucid.cli import command_line

    page = article(site / "commands.html")
    commands = typer.main.get_command(command_line()).commands
    for parameter in commands["score"].params + commands["train"].commands["molecules"].params:
        if parameter.param_type_name == "option" and parameter.name != "help" and not parameter.hidden:
            assert f"<code>{', '.join([*parameter.opts, *parameter.secondary_opts])}</code>" in page


def test_links_between_pages_lead_somewhere(site):
    """Also those of notebooks, which mkdocs does not look at."""
    ids = {page: set(re.findall(r'\b(?:id|name)="([^"]+)"', page.read_text())) for page in site.rglob("*.html")}
    for page in ids:
        for address in re.findall(r'<(?:a|img)\b[^>]*\b(?:href|src)="([^"]+)"', article(page)):
            if re.match(r"[a-z]+:", address):
                continue
            path, _, anchor = html.unescape(address).partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.is_file() or (target / "index.html").is_file(), f"{page.name}: {address}"
            assert not anchor or target not in ids or anchor in ids[target], f"{page.name}: {address}"


def test_notebooks_are_pages_with_their_outputs(site):
    for name in ("any_model", "molecules"):
        page = article(site / "examples" / f"{name}.html")
        assert '<div class="pellucid">' in page
        assert f'href="{name}.ipynb"' in page
        assert (site / "examples" / f"{name}.ipynb").is_file()


def test_the_figure_of_the_games_is_what_its_script_draws():
    spec = importlib.util.spec_from_file_location("games_figure", ROOT / "docs" / "games_figure.py")
    drawing = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(drawing)
    assert drawing.figure() == (ROOT / "docs" / "games.svg").read_text()
