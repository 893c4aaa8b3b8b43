"""Results in a terminal of Python and in a notebook.

In a notebook a result is a sentence, figures and the first rows, which need no code, and the whole page in a frame that
may run the page's own code and reach nothing of the notebook.
"""

from __future__ import annotations

from ksched_cli.report.registry import PlainText, RenderOptions, document_of, render

# The most lines of a table. The JSON document and the page have all of it.
_MOST_LINES = 40
_WIDTH = 100


class NotebookDisplay:
    """The texts of `repr` and `_repr_html_` of results."""

    def text(self, result: object) -> str:
        """The first lines of the table that the command line prints."""
        out = PlainText()
        render(result, out, RenderOptions("table", width=_WIDTH))
        lines = out.getvalue().rstrip("\n").split("\n")
        more = [f"… and {len(lines) - _MOST_LINES} more lines"] if len(lines) > _MOST_LINES else []
        return "\n".join([*lines[:_MOST_LINES], *more])

    def html(self, result: object) -> str:
        from ksched_cli.report.sinks.html import fragment_html

        return fragment_html(document_of(result, RenderOptions("html", timeline=True, node_answers=True)))
