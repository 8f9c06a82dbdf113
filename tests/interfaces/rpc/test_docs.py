"""`docs/rpc.md` documents every method, parameter and error code."""

from pathlib import Path

import msgspec

from everloop.interfaces.rpc import errors
from everloop.interfaces.rpc.method_table import METHODS

PAGE = (Path(__file__).parents[3] / "docs" / "rpc.md").read_text()


def test_the_docs_list_every_method_with_its_parameters() -> None:
    table = PAGE.partition("## Methods")[2].partition("## Errors")[0]
    rows = {line.split("`")[1]: line for line in table.splitlines() if line.startswith("| `")}
    assert set(METHODS) == set(rows)
    for name, method in METHODS.items():
        told = rows[name].split("|")[2]
        fields = [field.name for field in msgspec.structs.fields(method.params)]
        assert [field for field in fields if field not in told] == [], name


def test_the_docs_list_every_error_code() -> None:
    codes = [value for value in vars(errors).values() if isinstance(value, int)]
    assert len(codes) == 11
    assert [code for code in codes if f"| {code} |" not in PAGE] == []
