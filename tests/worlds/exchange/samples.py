"""Files of other programs, made for tests: cards, lorebooks, chats, a user folder."""

import base64
import struct
import zlib
from pathlib import Path
from typing import Any

import msgspec

from everloop.worlds.exchange.formats.png import plain_picture

JsonObject = dict[str, Any]

V1: JsonObject = {
    "name": "Ada",
    "description": "{{char}} is a pilot.",
    "personality": "calm",
    "scenario": "A café by the lake.",
    "first_mes": "Hello, {{user}}.",
    "mes_example": "<START>\n{{char}}: Up we go.\n<START>\n{{char}}: Down again.",
    "unknown": {"kept": [1, 2.5, None]},
}
BOOK: JsonObject = {
    "name": "The lake",
    "scan_depth": 6,
    "token_budget": 500,
    "recursive_scanning": True,
    "extensions": {"x": 1},
    "entries": [
        {
            "keys": ["lake"],
            "content": "@@depth 4\nThe lake is haunted.",
            "extensions": {"selectiveLogic": 3, "prevent_recursion": True, "own": "kept"},
            "enabled": True,
            "insertion_order": 7,
            "name": "Lake",
            "selective": True,
            "secondary_keys": ["night", "fog"],
            "constant": False,
            "priority": 9,
            "id": 4,
            "odd": "kept",
        },
        {
            "keys": ["/ghosts?/i"],
            "content": "There are three ghosts.",
            "extensions": {},
            "enabled": False,
            "insertion_order": 1,
            "use_regex": True,
        },
    ],
}
V2: JsonObject = {
    "spec": "chara_card_v2",
    "spec_version": "2.0",
    "name": "Ada",
    "fav": False,
    "data": {
        **V1,
        "creator_notes": "Be kind.",
        "system_prompt": "{{original}} Be brief.",
        "post_history_instructions": "Stay calm.",
        "alternate_greetings": ["You again?", "*waves*"],
        "character_book": BOOK,
        "tags": ["pilot"],
        "creator": "someone",
        "character_version": "1.1",
        "extensions": {"talkativeness": "0.5", "world": "Coast", "mine": {"deep": True}},
    },
}
V3: JsonObject = {
    "spec": "chara_card_v3",
    "spec_version": "3.1",
    "data": {
        **V2["data"],
        "nickname": "Adi",
        "group_only_greetings": [],
        "source": ["https://example.org/ada"],
        "creation_date": 1_700_000_000,
        "creator_notes_multilingual": {"de": "Sei nett."},
        "assets": [
            {"type": "icon", "uri": "embeded://assets/icon/images/main.png", "name": "main"},
            {"type": "x_map", "uri": "embeded://assets/other/map.bin", "name": "map"},
        ],
        "future_field": [True],
    },
}
WORLD_INFO: JsonObject = {
    "entries": {
        "0": {
            "uid": 0,
            "key": ["coast", "/sea(side)?/i"],
            "keysecondary": ["storm"],
            "comment": "Coast",
            "content": "The coast is steep.",
            "constant": False,
            "selective": True,
            "selectiveLogic": 2,
            "order": 50,
            "position": 4,
            "disable": False,
            "probability": 40,
            "useProbability": True,
            "excludeRecursion": True,
            "characterFilter": {"names": ["Ada"], "tags": [], "isExclude": False},
        },
        "7": {"uid": 7, "key": ["fish"], "keysecondary": [], "content": "Cod.", "disable": True},
    },
    "name": "Coast",
    "originalData": {"x": 1},
}
HEADER: JsonObject = {
    "chat_metadata": {"integrity": "1-2", "note_prompt": "Short.", "scenario": "At sea."},
    "user_name": "Robin",
    "character_name": "Ada",
}


def message(number: int, *, name: str = "Ada", user: bool = False, **more: Any) -> JsonObject:
    """A message of a chat."""
    text = f"Message {number} of {name}."
    return {
        "name": name,
        "is_user": user,
        "is_system": False,
        "send_date": "June 19, 2023 2:20pm",
        "mes": text,
        "extra": {"api": "x", "token_count": number},
        **more,
    }


CHAT: list[JsonObject] = [
    message(1, swipes=["Hi.", "Message 1 of Ada.", "*waves*"], swipe_id=1, swipe_info=[{}, {}, {}]),
    message(2, name="Robin", user=True, send_date=1_700_000_000_123),
    message(3, send_date="2024-07-12@01h31m37s123ms", gen_started=None, title="x"),
    message(4, is_system=True, send_date="2024-6-5 @14h 56m 50s 682ms"),
    message(5, name="Robin", user=True, send_date="2026-01-02T03:04:05.678Z", mes=""),
    message(6, swipes=["a", "b"], swipe_id=0),  # the text is none of the swipes
]


def encode(value: object) -> bytes:
    """A value as JSON."""
    return msgspec.json.encode(value)


def chat_file(messages: list[JsonObject] | None = None, header: JsonObject | None = None) -> bytes:
    """A chat as a file."""
    lines = [HEADER if header is None else header, *(CHAT if messages is None else messages)]
    return b"\n".join(encode(line) for line in lines)


def chunk(kind: bytes, content: bytes) -> bytes:
    """A chunk of a PNG file."""
    check = zlib.crc32(kind + content).to_bytes(4)
    return struct.pack(">I", len(content)) + kind + content + check


def png_card(cards: dict[str, JsonObject]) -> bytes:
    """A picture with cards in it, by the keyword of their chunks."""
    picture = plain_picture()
    end = picture.index(b"IEND") - 4
    texts = b"".join(
        chunk(b"tEXt", key.encode() + b"\0" + base64.b64encode(encode(card)))
        for key, card in cards.items()
    )
    return picture[:end] + texts + picture[end:]


def named_card(name: str) -> bytes:
    """A card of someone."""
    data = {**V2["data"], "name": name}
    return png_card({"chara": {**V2, "name": name, "data": data}})


def user_folder(root: Path) -> Path:
    """A user folder of SillyTavern: four characters, two chats, two groups, a persona."""
    for folder in ("characters", "chats/Ada", "groups", "group chats", "worlds", "backgrounds"):
        (root / folder).mkdir(parents=True)
    for name in ("Ada", "Bo", "Cleo", "Dan"):
        (root / "characters" / f"{name}.png").write_bytes(named_card(name))
    (root / "characters" / "broken.png").write_bytes(named_card("Eve")[:-30])
    (root / "worlds" / "Coast.json").write_bytes(encode(WORLD_INFO))
    (root / "backgrounds" / "sea.jpg").write_bytes(b"x")
    (root / "chats/Ada" / "First.jsonl").write_bytes(chat_file())
    settings = {
        "power_user": {
            "personas": {"robin.png": "Robin"},
            "persona_descriptions": {"robin.png": {"description": "A sailor.", "position": 0}},
            "default_persona": "robin.png",
        }
    }
    (root / "settings.json").write_bytes(encode(settings))
    lines = [
        message(1, name="Bo", original_avatar="Bo.png", extra={"present": ["Bo.png"]}),
        message(2, name="Cleo", original_avatar="Cleo.png"),
        message(3, name="Robin", user=True),
    ]
    (root / "group chats" / "g1.jsonl").write_bytes(chat_file(lines))
    four = [f"{name}.png" for name in ("Ada", "Bo", "Cleo", "Dan")]
    group = {"id": "1", "name": "Crew", "members": four, "chats": ["g1"], "chat_id": "g1"}
    (root / "groups" / "1.json").write_bytes(encode(group))
    return root
