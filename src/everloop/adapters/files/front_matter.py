"""YAML front matter of Markdown pages: safe parsing, and updates that keep unknown fields.

Every value is read as a string, or a list or map of strings: `no` and `1.0` stay as they are
written. Aliases and deep nesting are rejected (billion laughs). An update keeps unknown fields in
their place and spelling; only comments are lost.
"""

import io
import json
import re
from collections.abc import Mapping
from typing import Any, Final, cast

import yaml

from everloop.errors import Invalid
from everloop.memory.markdown.front_matter import FENCE, field_lines, split_page

HEAD_MAX: Final = 65_536  # characters
DEPTH_MAX: Final = 24
WIDTH: Final = 10_000  # lines are not wrapped

_PLAIN = re.compile(r"^([\w-]+: +)([^\s\"'|>#].*?) *$", re.MULTILINE)


class FrontMatter:
    """The front matter of a page, `---` lines included."""

    def __init__(self, head: str) -> None:
        self._node = _parse_head(head)

    def fields(self, *, tags: bool = False) -> dict[str, Any]:
        """The fields as strings, lists and maps. With `tags`, `!team x` is the map `team: x`."""
        return cast("dict[str, Any]", _to_plain(self._node, tags=tags)) if self._node else {}

    def apply_changes(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """The front matter with the changes between two sets of fields applied."""
        pairs = [(_key(key), key, value) for key, value in self._node.value] if self._node else []
        gone = {_normalise_name(name) for name in before if name not in after}
        kept = [
            (name, key, value) for name, key, value in pairs if _normalise_name(name) not in gone
        ]
        for name, given in after.items():
            if before.get(name) == given:
                continue
            node = _to_node({name: given}).value[0]
            places = [
                at
                for at, pair in enumerate(kept)
                if _normalise_name(pair[0]) == _normalise_name(name)
            ]
            if places:
                kept[places[0]] = (kept[places[0]][0], kept[places[0]][1], node[1])
            else:
                kept.append((name, *node))
        return fenced(yaml.MappingNode(_MAP, [(key, value) for _, key, value in kept], None, None))


def split_front_matter(page: str) -> tuple[str, str]:
    """Split a page into front matter and body, without loss: joined, they are the page.

    Raises:
        Invalid: the front matter is not closed, or is too long.
    """
    if not page.removeprefix("\ufeff").startswith((f"{FENCE}\n", f"{FENCE}\r\n")):
        return "", page
    head, body = split_page(page)
    if len(head) > HEAD_MAX:
        raise Invalid(
            f"the front matter has more than {HEAD_MAX:,} characters", hint="Move text below it."
        )
    return head, body


def new_front_matter(fields: Mapping[str, Any]) -> str:
    """Front matter with these fields."""
    return fenced(_to_node(dict(fields)))


def fenced(node: yaml.MappingNode) -> str:
    """Serialise a YAML map as front matter."""
    text = io.StringIO()
    dumper = yaml.SafeDumper(text, allow_unicode=True, width=WIDTH)
    dumper.open()
    dumper.serialize(node)
    dumper.close()
    return f"{FENCE}\n{text.getvalue()}{FENCE}\n"


# -- inside ----------------------------------------------------------------------------------------

_MAP: Final = "tag:yaml.org,2002:map"


def _parse_head(head: str) -> yaml.MappingNode | None:
    text = field_lines(head).replace("\r\n", "\n")
    try:
        node = _parse(text)
    except yaml.YAMLError as problem:
        node = _parse_leniently(text, problem)
    if node is not None and not isinstance(node, yaml.MappingNode):
        raise Invalid("line 2: the front matter has no fields", hint="Write `name: value`.")
    return node


def _parse(text: str) -> yaml.Node | None:
    _check_safe(text)
    node: yaml.Node | None = yaml.SafeLoader(text).get_single_node()
    return node


def _parse_leniently(text: str, problem: yaml.YAMLError) -> yaml.Node | None:
    """Parse again with unquoted values as plain text: `name: [a] [b]`, `name: Use it: now`.

    Other programs accept such invalid YAML, so people write it.
    """
    try:
        return _parse(_PLAIN.sub(_quote_value, text))
    except yaml.YAMLError:
        raise _syntax_error(problem) from None


def _quote_value(line: re.Match[str]) -> str:
    """Quote the value of a line that is not valid YAML."""
    try:
        _parse(line[0])
    except yaml.YAMLError:
        return f"{line[1]}{json.dumps(line[2])}"
    return line[0]


def _check_safe(text: str) -> None:
    """Reject aliases and deep nesting."""
    depth = 0
    parser: Any = yaml.SafeLoader(text)
    while parser.check_event():
        happened: yaml.Event = parser.get_event()
        line = happened.start_mark.line + 2 if happened.start_mark else 2
        if isinstance(happened, yaml.AliasEvent):
            raise Invalid(
                f"line {line}: aliases are not supported", hint="Repeat the value instead."
            )
        if isinstance(happened, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(happened, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_MAX:
            raise Invalid(f"line {line}: nested too deeply", hint="Use fewer levels.")


def _to_plain(node: yaml.Node, *, tags: bool = False) -> Any:
    """A YAML node as strings, lists and maps."""
    if tags and node.tag.startswith("!") and len(node.tag) > 1:
        name, node.tag = node.tag[1:], ""
        return {name: _to_plain(node, tags=tags)}
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Any] = {}
        for key, value in node.value:
            name = _key(key)
            if name in fields:
                line = key.start_mark.line + 2
                raise Invalid(f"line {line}: {name!r} occurs twice", hint="Remove one of them.")
            fields[name] = _to_plain(value, tags=tags)
        return fields
    if isinstance(node, yaml.SequenceNode):
        return [_to_plain(each, tags=tags) for each in node.value]
    null = node.tag == "tag:yaml.org,2002:null"
    return "" if null else str(node.value)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        line = node.start_mark.line + 2 if node.start_mark else 2
        raise Invalid(f"line {line}: a field name must be a string", hint="Write `name: value`.")
    return str(node.value)


def _normalise_name(name: str) -> str:
    """A field name with hyphens and underscores treated as equal."""
    return name.replace("-", "_")


def _to_node(fields: dict[str, Any]) -> yaml.MappingNode:
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=WIDTH)
    node = yaml.SafeLoader(text).get_single_node()
    assert isinstance(node, yaml.MappingNode), "fields are a map"
    return node


def _syntax_error(problem: yaml.YAMLError) -> Invalid:
    mark = getattr(problem, "problem_mark", None)
    line = mark.line + 2 if mark else 2
    what = getattr(problem, "problem", None) or "it cannot be read"
    return Invalid(f"line {line}: {what}", hint="Check it with any YAML tool.")
