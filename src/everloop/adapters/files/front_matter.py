"""Pages with YAML front matter: read without surprises, written back as they were.

Every value is read as a text, a list or a map of texts: `no` stays a word, `1.0` stays as it is
spelt. What could grow when it is read (anchors, deep nesting) is refused. A page that was changed
keeps what we do not know of, in its place and its spelling; only comments are lost then.
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
WIDTH: Final = 10_000  # no text is broken over lines

_PLAIN = re.compile(r"^([\w-]+: +)([^\s\"'|>#].*?) *$", re.MULTILINE)


class Head:
    """The front matter of a page, with its fences."""

    def __init__(self, head: str) -> None:
        self._node = _composed(head)

    def fields(self) -> dict[str, Any]:
        """What it says."""
        return cast("dict[str, Any]", _plain(self._node)) if self._node else {}

    def changed(self, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
        """The head with the difference between two sets of fields carried over to it."""
        pairs = [(_key(key), key, value) for key, value in self._node.value] if self._node else []
        gone = {_same(name) for name in before if name not in after}
        kept = [(name, key, value) for name, key, value in pairs if _same(name) not in gone]
        for name, given in after.items():
            if before.get(name) == given:
                continue
            node = _represented({name: given}).value[0]
            places = [at for at, pair in enumerate(kept) if _same(pair[0]) == _same(name)]
            if places:
                kept[places[0]] = (kept[places[0]][0], kept[places[0]][1], node[1])
            else:
                kept.append((name, *node))
        return fenced(yaml.MappingNode(_MAP, [(key, value) for _, key, value in kept], None, None))


def parted(page: str) -> tuple[str, str]:
    """A page's head, with its fences, and the rest; both to the letter, so that they add up to it.

    Raises:
        Invalid: the front matter has no end, or is too long.
    """
    if not page.removeprefix("\ufeff").startswith((f"{FENCE}\n", f"{FENCE}\r\n")):
        return "", page
    head, body = split_page(page)
    if len(head) > HEAD_MAX:
        raise Invalid(
            f"the front matter has more than {HEAD_MAX:,} characters", hint="Move text below it."
        )
    return head, body


def new_head(fields: Mapping[str, Any]) -> str:
    """A head that says these fields."""
    return fenced(_represented(dict(fields)))


def fenced(node: yaml.MappingNode) -> str:
    """A head from its map."""
    text = io.StringIO()
    dumper = yaml.SafeDumper(text, allow_unicode=True, width=WIDTH)
    dumper.open()
    dumper.serialize(node)
    dumper.close()
    return f"{FENCE}\n{text.getvalue()}{FENCE}\n"


# -- inside ----------------------------------------------------------------------------------------

_MAP: Final = "tag:yaml.org,2002:map"


def _composed(head: str) -> yaml.MappingNode | None:
    text = field_lines(head).replace("\r\n", "\n")
    try:
        node = _parsed(text)
    except yaml.YAMLError as problem:
        node = _parsed_leniently(text, problem)
    if node is not None and not isinstance(node, yaml.MappingNode):
        raise Invalid("line 2: the front matter has no fields", hint="Write `name: value`.")
    return node


def _parsed(text: str) -> yaml.Node | None:
    _check(text)
    node: yaml.Node | None = yaml.SafeLoader(text).get_single_node()
    return node


def _parsed_leniently(text: str, problem: yaml.YAMLError) -> yaml.Node | None:
    """Once more, with plain values taken as they are typed: `name: [a] [b]`, `name: Use it: now`.

    Hosts read such pages, so people write them.
    """
    try:
        return _parsed(_PLAIN.sub(_as_typed, text))
    except yaml.YAMLError:
        raise _wrong(problem) from None


def _as_typed(line: re.Match[str]) -> str:
    """A line that cannot be read by itself, with its value in quotes."""
    try:
        _parsed(line[0])
    except yaml.YAMLError:
        return f"{line[1]}{json.dumps(line[2])}"
    return line[0]


def _check(text: str) -> None:
    """Refuse what grows when it is read."""
    depth = 0
    parser: Any = yaml.SafeLoader(text)
    while parser.check_event():
        happened: yaml.Event = parser.get_event()
        line = happened.start_mark.line + 2 if happened.start_mark else 2
        if isinstance(happened, yaml.AliasEvent):
            raise Invalid(f"line {line}: an alias is not understood", hint="Write it out.")
        if isinstance(happened, yaml.CollectionStartEvent):
            depth += 1
        elif isinstance(happened, yaml.CollectionEndEvent):
            depth -= 1
        if depth > DEPTH_MAX:
            raise Invalid(f"line {line}: nested too deeply", hint="Say it more simply.")


def _plain(node: yaml.Node) -> Any:
    """A node as texts, lists and maps."""
    if isinstance(node, yaml.MappingNode):
        fields: dict[str, Any] = {}
        for key, value in node.value:
            name = _key(key)
            if name in fields:
                line = key.start_mark.line + 2
                raise Invalid(f"line {line}: {name!r} is there twice", hint="Keep one of them.")
            fields[name] = _plain(value)
        return fields
    if isinstance(node, yaml.SequenceNode):
        return [_plain(each) for each in node.value]
    null = node.tag == "tag:yaml.org,2002:null"
    return "" if null else str(node.value)


def _key(node: yaml.Node) -> str:
    if not isinstance(node, yaml.ScalarNode):
        line = node.start_mark.line + 2 if node.start_mark else 2
        raise Invalid(f"line {line}: a name must be a text", hint="Write `name: value`.")
    return str(node.value)


def _same(name: str) -> str:
    """What two spellings of a name have in common."""
    return name.replace("-", "_")


def _represented(fields: dict[str, Any]) -> yaml.MappingNode:
    text: str = yaml.safe_dump(fields, sort_keys=False, allow_unicode=True, width=WIDTH)
    node = yaml.SafeLoader(text).get_single_node()
    assert isinstance(node, yaml.MappingNode), "fields are a map"
    return node


def _wrong(problem: yaml.YAMLError) -> Invalid:
    mark = getattr(problem, "problem_mark", None)
    line = mark.line + 2 if mark else 2
    what = getattr(problem, "problem", None) or "it cannot be read"
    return Invalid(f"line {line}: {what}", hint="Check it with any YAML tool.")
