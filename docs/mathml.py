"""Formulas as MathML, which browsers draw by themselves: a page needs nothing from elsewhere.

Docutils, which Sphinx is made of, translates them; here is what its translator does not know.
"""

from __future__ import annotations

import re
from html import escape

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

_logger = logging.getLogger(__name__)
_TAG = re.compile(r"\\tag\{([^{}]*)\}")
_DOTS = re.compile(r"\\dots(?![a-zA-Z])")


def translated(formula: str, *, block: bool = False) -> str:
    """Return a formula of LaTeX as HTML; its number, if it has one, stands at the right.

    Raises
    ------
    MathError
        For what cannot be translated.
    """
    number = "".join(f'<span class="eqno">({escape(tag)})</span>' for tag in _TAG.findall(formula))
    plain = _DOTS.sub(r"\\ldots", _TAG.sub("", formula)).strip()
    return number + tex2mathml(plain, as_block=block)


def _write(self, node, *, block: bool) -> None:
    try:
        made = translated(node.astext(), block=block)
    except MathError as error:
        _logger.warning("formula %r: %s", node.astext(), error, location=node)
        made = f"<code>{escape(node.astext())}</code>"
    self.body.append(f'<div class="math">{made}</div>\n' if block else made)
    raise nodes.SkipNode


def setup(app) -> dict[str, bool]:
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(lambda self, node: _write(self, node, block=False), None),
        block_renderers=(lambda self, node: _write(self, node, block=True), None),
    )
    return {"parallel_read_safe": True, "parallel_write_safe": True}
