"""The machine's own ids and random bytes."""

import os

import pytest

from everloop.adapters.system import SystemClock, SystemEntropy, SystemIds


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


class _Clocks:
    """A wall clock that can be set, and the time since boot, which cannot."""

    def __init__(self) -> None:
        self.wall, self.boot = 1_800_000_000 * 1_000_000_000, 5_000_000_000

    def pass_s(self, seconds: int) -> None:
        self.wall += seconds * 1_000_000_000
        self.boot += seconds * 1_000_000_000


@pytest.mark.promise("P-LOG-19")
def test_a_leap_of_the_clock_counts_only_if_it_lasts() -> None:
    clocks = _Clocks()
    clock = SystemClock(lambda: clocks.wall, lambda: clocks.boot)
    before, years = clock.now_us(), 14 * 365 * 86_400 * 1_000_000_000
    clocks.wall += years
    clocks.pass_s(1)
    assert clock.now_us() == before + 1_000_000
    clocks.wall -= years  # it was a single wrong reading
    clocks.pass_s(120)
    assert clock.now_us() == before + 121_000_000
    clocks.wall += years  # somebody set it
    clock.now_us()
    clocks.pass_s(61)
    assert clock.now_us() == clocks.wall // 1_000
    assert clock.now().year == 2041


def test_a_clock_that_goes_back_or_slept_is_believed() -> None:
    clocks = _Clocks()
    clock = SystemClock(lambda: clocks.wall, lambda: clocks.boot)
    clocks.pass_s(30 * 86_400)
    assert clock.now_us() == clocks.wall // 1_000
    clocks.wall -= 86_400 * 400 * 1_000_000_000
    assert clock.now_us() == clocks.wall // 1_000
