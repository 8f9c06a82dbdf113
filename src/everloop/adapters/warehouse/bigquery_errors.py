"""Translates errors of Google's libraries into our own, with a hint."""

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
ROLES = "The account needs the roles BigQuery Data Editor and BigQuery Job User."
LATER = "Run it again later; it continues where it stopped."


@contextmanager
def translate_errors(doing: str) -> Generator[None]:
    """Translate errors of Google's library inside the block into ours."""
    try:
        yield
    except google.RetryError as problem:
        cause: Any = problem.cause
        raise translate_error(doing, cause or problem) from problem
    except (google.GoogleAPICallError, GoogleAuthError, OSError) as problem:
        raise translate_error(doing, problem) from problem


def translate_error(doing: str, problem: BaseException) -> EverloopError:
    """The matching error of ours."""
    match problem:
        case DefaultCredentialsError():
            return Forbidden("no Google credentials were found", hint=SIGN_IN)
        case GoogleAuthError():
            return Forbidden("Google did not accept the credentials found here", hint=SIGN_IN)
        case google.GoogleAPICallError():
            return _api_error(doing, problem)
        case _:  # its text may contain hosts and addresses, and does not help
            name = type(problem).__name__
            return Unavailable(f"BigQuery did not answer while {doing} ({name})", hint=LATER)


def _api_error(doing: str, problem: google.GoogleAPICallError) -> EverloopError:
    said = f"BigQuery refused while {doing}: {problem.message}"
    if isinstance(problem, google.TooManyRequests) or _reason(problem) in QUOTAS:
        return Unavailable(said, hint=f"A quota is used up. {LATER}")
    if isinstance(problem, google.Forbidden | google.Unauthorized):
        return Forbidden(said, hint=ROLES)
    if isinstance(problem, google.NotFound):
        return NotFound(said, hint="Check the project's name, and that BigQuery is enabled in it.")
    if isinstance(problem, google.ClientError):
        return Invalid(said, hint="docs/bigquery.md describes what is sent and expected.")
    return Unavailable(said, hint=LATER)


def _reason(problem: Any) -> str:
    """Google's reason code, if there is one."""
    errors: list[Any] = problem.errors
    return str(errors[0].get("reason", "")) if errors else ""
