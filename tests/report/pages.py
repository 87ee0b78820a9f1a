"""Pages as a browser sees them."""

import re
from html.parser import HTMLParser

VOID = {"meta", "link", "input", "use", "path", "rect", "circle", "polyline", "polygon", "br", "img"}
MARKUP = ("<img src=x onerror=alert(1)>", "</script><script>window.bad=1</script>")


class Page(HTMLParser):
    """A page as a browser sees it: elements, their text, and whether every one is closed."""

    def __init__(self, text):
        super().__init__()
        self.open, self.elements, self.text = [], [], []
        self.feed(text)
        self.close()
        assert self.open == [], f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)

    def of(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def words(self):
        return " ".join(" ".join(self.text).split())


def page_of(write, summary, folder):
    path = write(summary, folder / "report.html")
    return Page(path.read_text(encoding="utf-8"))


def places_of(path):
    text = path.read_text(encoding="utf-8")
    return re.findall(r'<article class="item"[^>]*>\s*<h3>(.*?)(?: <span class="rank (\w+)">.*?)?</h3>', text)
