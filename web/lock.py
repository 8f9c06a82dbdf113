"""Take out of `package-lock.json` what npm copies into it beside versions and hashes.

npm notes for each package where its makers ask for money. We want no address in a lock file.
"""

import json
from pathlib import Path

LOCK = Path(__file__).with_name("package-lock.json")


def main() -> None:
    """Write the lock anew, as npm lays it out."""
    lock = json.loads(LOCK.read_text())
    for package in lock["packages"].values():
        package.pop("funding", None)
    LOCK.write_text(json.dumps(lock, indent=2, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main()
