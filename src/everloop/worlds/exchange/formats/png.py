"""The chunks of a PNG file: reads and replaces text, and never unpacks the picture.

Cards keep their JSON in `tEXt` chunks. The length and checksum of every chunk are checked, and the
size of the picture that the header claims, because a browser will unpack it.
"""

import struct
import zlib
from collections.abc import Mapping
from typing import Final, NamedTuple

from everloop.errors import Invalid
from everloop.worlds.exchange.settings import ExchangeLimits

MEDIA_TYPE: Final = "image/png"
SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_TEXTS: Final = (b"tEXt", b"zTXt", b"iTXt")
_HEAD: Final = struct.Struct(">I4s")
_COLOUR: Final = (96, 116, 140)
_SIZE: Final = (400, 600)
HINT: Final = "Download the picture again; some sites strip or damage the card in it."


class Chunk(NamedTuple):
    """A chunk: its type and its content."""

    kind: bytes
    content: bytes


def read_chunks(content: bytes, name: str, limits: ExchangeLimits) -> list[Chunk]:
    """The chunks of a PNG file, up to its end mark.

    Raises:
        Invalid: it is no PNG, damaged, or too large.
    """
    if not content.startswith(SIGNATURE):
        raise Invalid(f"{name!r} is not a PNG file", hint=HINT)
    chunks: list[Chunk] = []
    at = len(SIGNATURE)
    while at < len(content):
        chunk, at = _read_chunk(content, at, name, limits)
        chunks.append(chunk)
        if chunk.kind == b"IEND":
            break
    if not chunks or chunks[0].kind != b"IHDR" or chunks[-1].kind != b"IEND":
        raise Invalid(f"{name!r} is cut off or no PNG file", hint=HINT)
    _check_header(chunks[0].content, name, limits)
    return chunks


def text_chunks(chunks: list[Chunk], name: str, limits: ExchangeLimits) -> dict[str, bytes]:
    """The texts in a PNG by keyword in lower case; of several alike, the first.

    Raises:
        Invalid: a packed text is damaged or too large.
    """
    found: dict[str, bytes] = {}
    for chunk in chunks:
        if chunk.kind in _TEXTS:
            keyword, _, rest = chunk.content.partition(b"\0")
            key = keyword.decode("latin-1").lower()
            if key not in found:
                found[key] = _text(chunk.kind, rest, name, limits)
    return found


def replace_texts(chunks: list[Chunk], texts: Mapping[str, bytes], drop: tuple[str, ...]) -> bytes:
    """A PNG with these texts instead of those whose keywords are dropped."""
    pieces = [SIGNATURE]
    for chunk in chunks:
        if chunk.kind == b"IEND":
            pieces += [_pack(b"tEXt", _text_content(key, value)) for key, value in texts.items()]
        if not _is_dropped(chunk, drop):
            pieces.append(_pack(chunk.kind, chunk.content))
    return b"".join(pieces)


def plain_picture() -> bytes:
    """A picture of one colour, for a card without a portrait."""
    width, height = _SIZE
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    rows = (b"\0" + bytes(_COLOUR) * width) * height
    parts = [(b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")]
    return SIGNATURE + b"".join(_pack(kind, content) for kind, content in parts)


def _read_chunk(content: bytes, at: int, name: str, limits: ExchangeLimits) -> tuple[Chunk, int]:
    if at + 12 > len(content):
        raise Invalid(f"{name!r} is cut off", hint=HINT)
    length, kind = _HEAD.unpack_from(content, at)
    if length > limits.chunk_bytes_max:
        raise Invalid(
            f"{name!r} has a chunk of {length:,} bytes, more than {limits.chunk_bytes_max:,}",
            hint="It is broken or hostile; the setting exchange.chunk_bytes_max allows more.",
        )
    end = at + 8 + length
    if end + 4 > len(content):
        raise Invalid(f"{name!r} is cut off", hint=HINT)
    body = content[at + 8 : end]
    if zlib.crc32(kind + body) != int.from_bytes(content[end : end + 4]):
        raise Invalid(f"{name!r} is damaged: the checksum of a chunk is wrong", hint=HINT)
    return Chunk(kind, body), end + 4


def _check_header(head: bytes, name: str, limits: ExchangeLimits) -> None:
    if len(head) != 13:
        raise Invalid(f"{name!r} has a damaged header", hint=HINT)
    width, height = struct.unpack(">II", head[:8])
    if not 0 < width * height <= limits.pixels_max:
        raise Invalid(
            f"{name!r} claims {width:,} by {height:,} pixels",
            hint="It is broken or hostile; the setting exchange.pixels_max allows more.",
        )


def _text(kind: bytes, rest: bytes, name: str, limits: ExchangeLimits) -> bytes:
    if kind == b"tEXt":
        return rest
    packed = True
    if kind == b"zTXt":
        rest = rest[1:]
    else:
        packed = rest[:1] == b"\1"
        rest = rest[2:].partition(b"\0")[2].partition(b"\0")[2]
    return _unpack(rest, name, limits) if packed else rest


def _unpack(packed: bytes, name: str, limits: ExchangeLimits) -> bytes:
    unpacking = zlib.decompressobj()
    try:
        text = unpacking.decompress(packed, limits.chunk_bytes_max)
    except zlib.error:
        raise Invalid(f"{name!r} has a damaged text", hint=HINT) from None
    if unpacking.unconsumed_tail:
        raise Invalid(
            f"{name!r} has a text that unpacks to more than {limits.chunk_bytes_max:,} bytes",
            hint="It is broken or hostile; the setting exchange.chunk_bytes_max allows more.",
        )
    return text


def _is_dropped(chunk: Chunk, drop: tuple[str, ...]) -> bool:
    keyword = chunk.content.partition(b"\0")[0].decode("latin-1").lower()
    return chunk.kind in _TEXTS and keyword in drop


def _text_content(key: str, value: bytes) -> bytes:
    return key.encode("latin-1") + b"\0" + value


def _pack(kind: bytes, content: bytes) -> bytes:
    return _HEAD.pack(len(content), kind) + content + zlib.crc32(kind + content).to_bytes(4)


def picture_media_type(content: bytes) -> str:
    """The media type of a picture by its first bytes; none for another file."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for start, kind in _PICTURES.items() if content.startswith(start)), "")


_PICTURES: Final = {
    SIGNATURE: MEDIA_TYPE,
    b"\xff\xd8\xff": "image/jpeg",
    b"GIF87a": "image/gif",
    b"GIF89a": "image/gif",
}
