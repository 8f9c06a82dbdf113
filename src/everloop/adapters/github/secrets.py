"""Secrets from a file that only its owner can read, or from the settings and the environment."""

from pathlib import Path

from everloop.errors import Invalid

SECRET_BYTES_MAX = 4_096
OTHERS = 0o077


def read_secret(key: str, file: str, setting: str) -> str:
    """The secret: of its file if one is named, else of the setting; empty if there is neither.

    Raises:
        Invalid: the file cannot be read, or others can read it.
    """
    if not file:
        return key.strip()
    path = Path(file).expanduser()
    try:
        if path.stat().st_mode & OTHERS:
            raise Invalid(f"others can read {str(path)!r}", hint=f"chmod 600 {path}")
        with path.open("rb") as opened:
            text = opened.read(SECRET_BYTES_MAX).decode().strip()
    except (OSError, UnicodeDecodeError) as problem:
        hint = f"Write the secret into that file, or change `{setting}`."
        raise Invalid(f"{str(path)!r} cannot be read", hint=hint) from problem
    if not text or "\n" in text:
        raise Invalid(f"{str(path)!r} has no single line", hint="Write the secret into it.")
    return text
