"""The text of an XML document."""

from __future__ import annotations

from xml.etree import ElementTree

_SURROGATES = range(0xD800, 0xE000)
_ILLEGAL = dict.fromkeys([*range(9), 11, 12, *range(14, 32), *_SURROGATES, 0xFFFE, 0xFFFF])
"""Characters that no XML document may hold; names and statements may."""


def xml_document(root: ElementTree.Element) -> str:
    """The text of a document, without the characters that XML cannot hold."""
    text = ElementTree.tostring(root, encoding="unicode").translate(_ILLEGAL)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n'
