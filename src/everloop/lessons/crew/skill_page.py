"""Converts a skill to and from the front matter fields of a `SKILL.md` page. Pure.

The fields are those of the Agent Skills format, with the extensions of Claude Code:
`allowed-tools`, `argument-hint`, `disable-model-invocation`, `hooks`. Names may be spelt with
hyphens or underscores.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from everloop.lessons.crew.events import HookGroup, HookHandler, Skill, SkillFile
from everloop.lessons.crew.fields import convert_field, list_field, text_field, typed_field
from everloop.lessons.crew.validation import DESCRIPTION_MAX

TEXT_FIELDS: Final = (
    "type",
    "version",
    "when_to_use",
    "argument_hint",
    "model",
    "effort",
    "context",
    "agent",
)

_TOOLS = re.compile(r"[^\s,(]+(?:\([^)]*\))?")
_ARGUMENTS = re.compile(r"[^\s,]+")
_PATHS = re.compile(r"[^\s,][^,]*(?<!\s)")


def parse_skill(
    said: Mapping[str, Any], head: str = "", files: tuple[SkillFile, ...] = ()
) -> Skill:
    """The skill that the fields describe; unknown fields are ignored.

    Raises:
        Invalid: a field has the wrong type.
    """
    said = {**said, "argument_hint": _argument_hint(said.get("argument_hint"))}
    words = {name: word for name in TEXT_FIELDS if (word := text_field(said, name))}
    return Skill(
        description=text_field(said, "description") or _first_line(text_field(said, "body")),
        body=text_field(said, "body"),
        **words,
        arguments=_list_field(said, "arguments", _ARGUMENTS),
        allowed_tools=_list_field(said, "allowed_tools", _TOOLS),
        hooks=_hooks(said.get("hooks")),
        paths=_list_field(said, "paths", _PATHS),
        activation=_activation(said),
        front_matter=head,
        files=files,
    )


def front_matter_fields(name: str, skill: Skill) -> dict[str, Any]:
    """The front matter fields of a skill, with the names that hosts use."""
    said: dict[str, Any] = {
        "name": name,
        "description": skill.description,
        "type": skill.type if skill.type != "generative" else "",
        "version": skill.version,
        "when_to_use": skill.when_to_use,
        "argument-hint": skill.argument_hint,
        "arguments": list(skill.arguments),
        "allowed-tools": list(skill.allowed_tools),
        "model": skill.model,
        "effort": skill.effort,
        "context": skill.context if skill.context != "inherit" else "",
        "agent": skill.agent,
        "paths": list(skill.paths),
        "disable-model-invocation": skill.activation == "user-triggered",
        "activation": "auto" if skill.activation == "auto" and skill.paths else "",
        "hooks": {happening: _group_fields(groups) for happening, groups in skill.hooks.items()},
    }
    return {field: given for field, given in said.items() if given}


# -- reading ---------------------------------------------------------------------------------------


def _argument_hint(given: Any) -> Any:
    """The argument hint as typed: YAML reads `[version]` as a list."""
    return f"[{', '.join(cast('list[str]', given))}]" if isinstance(given, list) else given


def _first_line(body: str) -> str:
    """The description of a page that has none: its first line that is not a heading."""
    lines = (line.strip() for line in body.splitlines())
    return next((line for line in lines if line and not line.startswith("#")), "")[:DESCRIPTION_MAX]


def _activation(said: Mapping[str, Any]) -> str:
    if chosen := text_field(said, "activation"):
        return chosen
    if typed_field(said, "disable_model_invocation", bool, default=False):
        return "user-triggered"
    return "path-triggered" if list_field(said, "paths") else "auto"


def _list_field(said: Mapping[str, Any], field: str, each: re.Pattern[str]) -> tuple[str, ...]:
    """A list field, or one text with several values: `Read, Grep, Bash(git diff *)`."""
    given = said.get(field)
    if isinstance(given, str):
        return tuple(each.findall(given))
    return tuple(list_field(said, field))


def _hooks(given: Any) -> dict[str, tuple[HookGroup, ...]]:
    raw = convert_field("hooks", given or {}, dict[str, list[dict[str, Any]]])
    return {happening: tuple(map(_group, groups)) for happening, groups in raw.items()}


def _group(raw: Mapping[str, Any]) -> HookGroup:
    given = raw.get("handlers", raw.get("hooks", []))
    handlers = convert_field("handlers of a hook", given, list[dict[str, Any]])
    return HookGroup(tuple(map(_handler, handlers)), text_field(raw, "matcher"))


def _handler(raw: Mapping[str, Any]) -> HookHandler:
    known = {"type", "timeout", "once"}
    return HookHandler(
        type=text_field(raw, "type"),
        settings={name: given for name, given in raw.items() if name not in known},
        timeout_s=typed_field(raw, "timeout", float, default=0.0),
        once=typed_field(raw, "once", bool, default=False),
    )


# -- writing ---------------------------------------------------------------------------------------


def _group_fields(groups: Sequence[HookGroup]) -> list[dict[str, Any]]:
    return [
        {
            **({"matcher": group.matcher} if group.matcher else {}),
            "hooks": [_handler_fields(handler) for handler in group.handlers],
        }
        for group in groups
    ]


def _handler_fields(handler: HookHandler) -> dict[str, Any]:
    said: dict[str, Any] = {"type": handler.type, **handler.settings}
    if handler.timeout_s:
        whole = handler.timeout_s.is_integer()
        said["timeout"] = int(handler.timeout_s) if whole else handler.timeout_s
    if handler.once:
        said["once"] = True
    return said
