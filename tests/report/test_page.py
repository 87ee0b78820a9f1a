"""A page: one file, with no script but its own."""

import base64
import hashlib
import json
import re

import pytest
from report.summaries import write_molecules, write_series

from pellucid import InputError
from pellucid.report import embed
from pellucid.report.page import coded


def test_embedded_data_cannot_end_their_element():
    data = {"a": "</script><!--", "b": ["<", "&", "\u2028", 0.5, None]}
    text = str(embed(data))
    assert not re.search("[<>&\u2028]", text)
    assert json.loads(text) == data


def test_words_between_backticks_are_code_and_nothing_is_markup():
    assert str(coded("<b> `x < 1` & `y`")) == (
        '&lt;b&gt; <span class="code">x &lt; 1</span> &amp; <span class="code">y</span>'
    )
    assert str(coded("a ` alone <i>")) == "a ` alone &lt;i&gt;"
    assert str(coded("plain")) == "plain"


@pytest.mark.slow
def test_only_the_scripts_of_the_page_may_run(molecules, tmp_path):
    text = write_molecules(molecules, tmp_path / "report.html").read_text(encoding="utf-8")
    (script,) = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    assert f"script-src &#39;sha256-{digest}" in text or f"script-src 'sha256-{digest}'" in text
    assert "default-src 'none'" in text
    assert not re.search(r"https?://", text)


@pytest.mark.slow
def test_what_is_no_file_is_refused(series, tmp_path):
    with pytest.raises(InputError, match="must be written to a file. Got the folder"):
        write_series(series, tmp_path)
    with pytest.raises(InputError, match="folder of a report must exist"):
        write_series(series, tmp_path / "missing" / "report.html")
