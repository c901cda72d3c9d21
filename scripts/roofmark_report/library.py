# SPDX-FileCopyrightText: The roofmark authors
# SPDX-License-Identifier: Apache-2.0
"""The part of plotly.js that the pages use. The plotly package has the whole library, mostly maps and 3D; neither PyPI nor Debian
packages its partial bundles. The library is one function whose body declares modules by name, so a parser finds what the kept
traces need."""

import base64
import contextlib
import functools
import hashlib
import json
import os
import re
import zlib
from pathlib import Path

import plotly.offline
import tree_sitter
import tree_sitter_javascript

from .program import visible

TRACES = {"bar", "box", "heatmap"}  # beside scatter, which the core contains
_NAME = re.compile(rb"[A-Za-z_$][\w$]*")
_EXPORTS = re.compile(rb"\w+\(([\w$]+),\{")  # a statement that fills the exports of a module: it goes with the module
_TRACES = re.compile(rb"\.register\(\[((?:[\w$]+\(\),?)+)\]\)")  # the last module registers all traces


def _declarations(block):
    """(name, node) of each name that the block declares; of other statements, without a name."""
    for statement in block.named_children:
        for node in statement.named_children if statement.type in ("variable_declaration", "lexical_declaration") else [statement]:
            name = node.child_by_field_name("name")
            yield (name.text if name else None), node


def _type_of(name, texts):
    """The type of trace that a module of the list of traces registers; None of any other module."""
    for _ in range(3):
        if found := re.search(rb'moduleType:"trace",name:"(\w+)"', texts[name]):
            return found[1].decode()
        if not (onward := re.search(rb"exports=([\w$]+)\(\)", texts[name])):
            return None
        name = onward[1]
    return None


def _body(tree):
    """The block that declares the modules: the only one with thousands of statements."""
    nodes = [tree.root_node]
    for node in nodes:
        if node.type == "statement_block" and node.named_child_count > 1000:
            return node
        nodes += node.named_children
    raise ValueError("plotly.js is not laid out as expected")


def reduced(source, traces):
    """plotly.js with these traces and what they need."""
    body = _body(tree_sitter.Parser(tree_sitter.Language(tree_sitter_javascript.language())).parse(source))
    texts, others, kept_by = {}, [], {}
    for name, node in _declarations(body):
        if name:
            texts[name] = node.text
        elif found := _EXPORTS.match(node.text):
            kept_by.setdefault(found[1], []).append(node.text)
        else:
            others.append(node.text)
    [main] = [name for name, text in texts.items() if _TRACES.search(text)]
    registered = _TRACES.search(texts[main])[1]
    wanted = [module for module in registered.split(b",") if _type_of(module.removesuffix(b"()"), texts) in traces]
    if len(wanted) != len(traces):
        raise ValueError(f"plotly.js lacks a trace among {', '.join(sorted(traces))}")
    texts[main] = texts[main].replace(registered, b",".join(wanted))

    kept, reached = set(), [main]
    for name in reached:
        if name not in kept:
            kept.add(name)
            reached += {word for text in (texts[name], *kept_by.get(name, ())) for word in _NAME.findall(text)} & texts.keys() - kept
    lines = [text if text.startswith((b"function", b"class", b"async")) else b"var " + text + b";" for name, text in texts.items() if name in kept]
    lines += [text for name, exports in kept_by.items() if name in kept for text in exports]
    return source[:body.start_byte + 1] + b"\n".join(lines + others) + source[body.end_byte - 1:]


def _whole():
    return plotly.offline.get_plotlyjs()


def _cache(source):
    """The file that keeps the part compressed: finding it takes a second, most of the time of a page. None without a home."""
    folder = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    key = hashlib.sha256(source + repr(sorted(TRACES)).encode() + Path(__file__).read_bytes()).hexdigest()
    return Path(folder, "roofmark", f"plotly-{key[:32]}.js.z") if os.path.isabs(folder) else None


@functools.cache
def _compressed():
    source = _whole().encode()
    cache = _cache(source)
    with contextlib.suppress(OSError, zlib.error):
        if cache:
            kept = cache.read_bytes()
            zlib.decompress(kept)  # its checksum shows damage
            return kept
    made = zlib.compress(reduced(source, TRACES), 9)
    with contextlib.suppress(OSError):
        if cache:
            cache.parent.mkdir(parents=True, exist_ok=True)
            temporary = cache.with_suffix(f".{os.getpid()}")
            temporary.write_bytes(made)
            os.replace(temporary, cache)
    return made


def _part():
    return zlib.decompress(_compressed()).decode()


def _packed(compressed):
    """As page.js unpacks it."""
    return base64.b64encode(compressed).decode()


def packed():
    """The part of plotly.js that the pages use, packed."""
    return _packed(_compressed())


def elements(figures, form="packed"):
    """The elements that bring figures by id and plotly.js into a page: packed, which page.js unpacks before the page has loaded; or as they
    are, with the part of plotly.js that is used ("plain") or all of it ("whole"), for browsers that cannot unpack."""
    text = visible(json.dumps(figures, allow_nan=False, ensure_ascii=False))
    if form == "packed":
        return "\n".join(f'<script type="text/plain" id="{name}">{content}</script>' for name, content in (
            ("figures", _packed(zlib.compress(text.encode(), 9))), ("library", packed() if figures else "")))
    safe = text.replace("<", "\\u003c")
    library = "" if not figures else _whole() if form == "whole" else _part()
    return f'<script type="application/json" id="figures">{safe}</script>\n<script>{library}</script>'
