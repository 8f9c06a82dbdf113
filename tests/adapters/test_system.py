"""The machine's own ids and random bytes."""

import os

import pytest

from everloop.adapters.system import SystemEntropy, SystemIds


def test_random_bytes_are_as_many_as_asked_and_never_the_same() -> None:
    entropy = SystemEntropy()
    drawn = [entropy.draw(count) for count in (16, 16, 4_090, 10_000, 16)]
    assert [len(portion) for portion in drawn] == [16, 16, 4_090, 10_000, 16]
    assert len(set(drawn)) == len(drawn)


def test_ids_are_never_given_out_twice() -> None:
    ids = SystemIds(SystemEntropy())
    assert len({ids.new("req") for _ in range(5_000)}) == 5_000


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system forks no processes")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # other tests may have left threads
def test_a_forked_process_draws_its_own_bytes() -> None:
    entropy = SystemEntropy()
    entropy.draw(16)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.write(writing, entropy.draw(16))
        os._exit(0)  # nothing of the parent's is cleaned up twice
    os.waitpid(child, 0)
    assert os.read(reading, 16) != entropy.draw(16)
    os.close(reading)
    os.close(writing)
