"""What goes wrong between us and BigQuery, told as our own errors with a next step."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

from google.api_core import exceptions as google
from google.auth.exceptions import DefaultCredentialsError, GoogleAuthError

from everloop.errors import EverloopError, Forbidden, Invalid, NotFound, Unavailable

QUOTAS = frozenset({"quotaExceeded", "rateLimitExceeded", "jobRateLimitExceeded"})
SIGN_IN = (
    "Sign in with `gcloud auth application-default login`, or name a service account's file in"
    " GOOGLE_APPLICATION_CREDENTIALS."
)
ROLES = "Whoever is signed in needs the roles BigQuery Data Editor and BigQuery Job User."
LATER = "Run it again later; it goes on where it stopped."


@contextmanager
def told(doing: str) -> Generator[None]:
    """Raise what Google's library raises inside as an error of ours."""
    try:
        yield
    except google.RetryError as problem:
        cause: Any = problem.cause
        raise trouble(doing, cause or problem) from problem
    except (google.GoogleAPICallError, GoogleAuthError, OSError) as problem:
        raise trouble(doing, problem) from problem


def trouble(doing: str, problem: BaseException) -> EverloopError:
    """The error of ours that says the same."""
    match problem:
        case DefaultCredentialsError():
            return Forbidden("no Google credentials were found", hint=SIGN_IN)
        case GoogleAuthError():
            return Forbidden("Google did not accept the credentials found here", hint=SIGN_IN)
        case google.GoogleAPICallError():
            return _refused(doing, problem)
        case _:  # its text may name hosts and addresses, and helps nobody
            name = type(problem).__name__
            return Unavailable(f"BigQuery did not answer while {doing} ({name})", hint=LATER)


def _refused(doing: str, problem: google.GoogleAPICallError) -> EverloopError:
    said = f"BigQuery refused while {doing}: {problem.message}"
    if isinstance(problem, google.TooManyRequests) or _reason(problem) in QUOTAS:
        return Unavailable(said, hint=f"A quota is used up. {LATER}")
    if isinstance(problem, google.Forbidden | google.Unauthorized):
        return Forbidden(said, hint=ROLES)
    if isinstance(problem, google.NotFound):
        return NotFound(said, hint="Check the project's name, and that BigQuery is enabled in it.")
    if isinstance(problem, google.ClientError):
        return Invalid(said, hint="docs/bigquery.md says what is sent, and what is expected.")
    return Unavailable(said, hint=LATER)


def _reason(problem: Any) -> str:
    """Google's own word for what happened, if it gave one."""
    errors: list[Any] = problem.errors
    return str(errors[0].get("reason", "")) if errors else ""
