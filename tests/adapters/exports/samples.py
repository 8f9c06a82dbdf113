"""Small exports of every kind, written as their services write them."""

import json
import zipfile
from pathlib import Path
from typing import Any

Json = dict[str, Any]


def claude(number: int, *texts: str, name: str = "", at: str = "2025-03-01T10:{:02d}:00Z") -> Json:
    """A conversation of Claude's export, a person and the model by turns."""
    return {
        "uuid": f"c{number}",
        "name": name or f"Talk {number}",
        "created_at": at.format(0),
        "chat_messages": [
            {
                "uuid": f"c{number}-m{place}",
                "sender": "assistant" if place % 2 else "human",
                "text": "",
                "content": [
                    {"type": "thinking", "thinking": "hm"},
                    {"type": "text", "text": text},
                    {"type": "tool_use", "name": "search"},
                ],
                "created_at": at.format(place),
                "attachments": [],
                "files": [],
            }
            for place, text in enumerate(texts)
        ],
    }


def node(key: str, parent: str | None, children: list[str], message: Json | None) -> Json:
    """A node of a ChatGPT tree."""
    return {"id": key, "parent": parent, "children": children, "message": message}


def gpt_message(key: str, role: str, *parts: Any, at: float | None = 1_741_000_000.5) -> Json:
    """A message of ChatGPT's export."""
    return {
        "id": key,
        "author": {"role": role},
        "create_time": at,
        "content": {"content_type": "text", "parts": list(parts)},
        "recipient": "all",
        "metadata": {"model_slug": "gpt-4o"} if role == "assistant" else {},
    }


def chatgpt() -> Json:
    """A conversation with two answers, the second of which counts, and what is to be left out."""
    tool = gpt_message("t", "assistant", "search('tea')") | {"recipient": "browser"}
    hidden = gpt_message("h", "user", "context")
    hidden["metadata"] = {"is_visually_hidden_from_conversation": True}
    return {
        "conversation_id": "g1",
        "title": "Tea",
        "create_time": 1_741_000_000.0,
        "current_node": "a2",
        "mapping": {
            "root": node("root", None, ["s"], None),
            "s": node("s", "root", ["h"], gpt_message("s", "system", "", at=None)),
            "h": node("h", "s", ["q"], hidden),
            "q": node("q", "h", ["a1", "t"], gpt_message("q", "user", "Which tea?", {"image": 1})),
            "a1": node("a1", "q", [], gpt_message("a1", "assistant", "Black.")),
            "t": node("t", "q", ["a2"], tool),
            "a2": node("a2", "t", [], gpt_message("a2", "assistant", "Green.", at=None)),
        },
    }


def code_lines() -> list[Json]:
    """A session of Claude Code, with all that is to be passed over."""
    shared = {"sessionId": "s1", "cwd": "/home/me/garden", "version": "2", "isSidechain": False}

    def line(kind: str, uuid: str, content: Any, **more: Any) -> Json:
        message = {"role": kind, "content": content}
        at = "2025-05-05T05:05:05.000Z"
        return {"type": kind, "uuid": uuid, "timestamp": at, "message": message, **shared, **more}

    return [
        {"type": "summary", "summary": "Beds", "leafUuid": "x"},
        line("user", "u1", "Plan the beds."),
        line("user", "u2", "note", isMeta=True),
        line("assistant", "u3", [{"type": "text", "text": "Three beds."}]),
        line("assistant", "u4", [{"type": "tool_use", "name": "Bash", "input": {}}]),
        line("user", "u5", [{"type": "tool_result", "content": "ok"}], toolUseResult={}),
        line("user", "u6", "/compact"),
        line("user", "u7", "aside", isSidechain=True),
        line("user", "u8", "Good."),
    ]


def write_list(path: Path, *conversations: Json) -> Path:
    """A `conversations.json`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(list(conversations)))
    return path


def write_lines(path: Path, lines: list[Json]) -> Path:
    """Lines of JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def write_zip(path: Path, **files: str) -> Path:
    """A zip; a name's last underscore stands for the dot."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(".".join(name.rsplit("_", 1)), text)
    return path
