"""Every promise has a test, and every claim a promise."""

from docs.promises import claims, promised


def test_every_promise_is_claimed_by_a_test_and_every_claim_is_promised() -> None:
    assert sorted(claims()) == sorted(promised())


def test_a_promise_is_made_once() -> None:
    assert len(promised()) == len(set(promised()))
