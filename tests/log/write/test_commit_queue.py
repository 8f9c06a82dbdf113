"""Group commit: who waits for whom."""

from collections.abc import Sequence
from threading import Thread

from everloop.log.write.append import AppendRequest, Receipt
from everloop.log.write.commit_queue import CommitQueue, wake


def request(name: str) -> AppendRequest:
    return AppendRequest("s", [], "user", name)


def test_a_caller_whose_append_is_done_does_not_wait_for_the_write_lock() -> None:
    stuck: list[bool] = []

    def commit(batch: Sequence[AppendRequest]) -> None:
        """Write the first append while another caller comes; that one must return meanwhile."""
        second = Thread(target=lambda: queue.write(request("second")), daemon=True)
        second.start()
        while len(batch) < 2:
            queue.add_late_arrivals()
        for one in batch:
            one.receipt = Receipt(one.request_id, "s", "main", 1, ())
        wake(batch)
        second.join(timeout=10)
        stuck.append(second.is_alive())

    queue = CommitQueue(commit, batch_max=2)
    queue.write(request("first"))
    queue.close()
    assert stuck == [False]
