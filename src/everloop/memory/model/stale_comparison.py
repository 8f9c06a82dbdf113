"""Whether something for the same audience came after what is new was compared: from elsewhere.

Asked in the transaction that records it, so of two processes or nodes that say the same at once the
second is noticed, too.
"""

from everloop.errors import Conflict
from everloop.log import Reader
from everloop.memory.model.commands import RememberCompared

_SINCE = """
SELECT 1 FROM memory_versions v JOIN memory_items i ON i.position = v.item
WHERE v.position > ? AND v.scope = ? AND i.kind = ? LIMIT 1
"""


class SaidMeanwhile(Conflict):
    """Something came that it was not compared with: compare again."""


def against_what_came(reader: Reader, command: RememberCompared) -> None:
    """Pass what was compared with all there is.

    Raises:
        SaidMeanwhile: it was not.
    """
    if reader.rows(_SINCE, (command.upto, command.scope, command.kind)):
        raise SaidMeanwhile("something else was said meanwhile", hint="Say it again.")
