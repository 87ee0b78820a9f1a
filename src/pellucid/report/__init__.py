"""Results as one self-contained HTML file: no server, no network, light and dark, on screen and on paper.

This package knows neither molecules nor series: `pellucid.molecules.report` and `pellucid.series.report` fill its
pages.
"""

from pellucid.report.audit import write_audit
from pellucid.report.page import embed, render, write_page

__all__ = ["embed", "render", "write_audit", "write_page"]
