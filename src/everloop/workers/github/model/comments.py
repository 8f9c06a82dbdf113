"""What a comment on GitHub means: an answer of the owner, a request for changes, or just talk.

Anybody can write a comment, and what it says is nobody's word here. It answers a request only if
the owner wrote it, as one exact command, never edited, and the user switched that on.
"""

import msgspec

from everloop.workers.github.model.events import Comment

PREFIX = "/everloop"
APPROVE, CANCEL, REVISE = f"{PREFIX} approve", f"{PREFIX} cancel", f"{PREFIX} revise"
CHOICES = {APPROVE: "approve", CANCEL: "cancel"}
TRUSTED = frozenset(("OWNER", "MEMBER", "COLLABORATOR"))  # who may ask the worker for changes
CHANGES_REQUESTED = "changes_requested"


class Answer(msgspec.Struct, frozen=True):
    """A choice of a request, with the text that it may need."""

    choice: str
    text: str = ""


def answer_of(comment: Comment, *, owner: str, switched_on: bool) -> Answer | None:
    """The answer that a comment beside an issue is; None if it is none."""
    if not switched_on or not owner or comment.author.lower() != owner.lower():
        return None
    if comment.kind != "issue" or comment.bot or comment.edited:
        return None
    said = comment.text.strip()
    if said in CHOICES:
        return Answer(CHOICES[said])
    wish = revision(said)
    return Answer("revise", wish) if wish else None


def asks_for_changes(comment: Comment) -> bool:
    """Whether the worker gets a comment: of people of the repository, about the pull request.

    Comments at lines, reviews that request changes, and `/everloop revise` with a text below.
    """
    if comment.bot or comment.association not in TRUSTED or not comment.text.strip():
        return False
    match comment.kind:
        case "line":
            return True
        case "review":
            return comment.review_state == CHANGES_REQUESTED
        case "pull_request":
            return bool(revision(comment.text))
        case "issue":
            return False


def revision(text: str) -> str:
    """The text below a first line that is exactly `/everloop revise`; empty without one."""
    first, _, rest = text.strip().partition("\n")
    return rest.strip() if first.strip() == REVISE else ""
