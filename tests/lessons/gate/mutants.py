"""Mutation testing: mutants of a module, and a run of its tests that should fail.

Each mutant is the module's source with one operator, constant, condition or list entry changed. The
tests are those of a test module, run in this process against the mutant instead of the module.
"""

import ast
import copy
import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

OPERATORS: dict[type[ast.cmpop], tuple[type[ast.cmpop], ...]] = {
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Gt: (ast.GtE,),
    ast.LtE: (ast.Lt,),
    ast.Lt: (ast.LtE,),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
Change = Callable[[Any], None]


class Mutant:
    """A module's tree with one change, and where that is."""

    def __init__(self, tree: ast.Module, what: str) -> None:
        self.tree = tree
        self.what = what

    def module(self) -> ModuleType:
        """The mutant, ready to be used."""
        made = ModuleType("mutant")
        code = compile(ast.fix_missing_locations(self.tree), "mutant", "exec")
        exec(code, made.__dict__)  # noqa: S102 - our own source
        return made


def mutants(source: str) -> Iterator[Mutant]:
    """Every mutant of a module."""
    tree = ast.parse(source)
    for number, node in enumerate(ast.walk(tree)):
        for name, change in _changes(node):
            changed = copy.deepcopy(tree)
            target = next(itertools.islice(ast.walk(changed), number, None))
            change(target)
            yield Mutant(changed, f"line {getattr(node, 'lineno', 0)}: {name}")


def survives(mutant: ModuleType, tests: Path, replaced: str) -> bool:
    """Whether no test of a test module notices the mutant that stands in for `replaced`."""
    tree = ast.parse(tests.read_text())
    scope: dict[str, Any] = {"__name__": "tests_of_a_mutant"}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == replaced:
            scope |= {alias.name: getattr(mutant, alias.name) for alias in node.names}
            tree.body.remove(node)
            break
    exec(compile(tree, str(tests), "exec"), scope)  # noqa: S102 - our own source
    found = [value for name, value in scope.items() if name.startswith("test_")]
    return all(_passes(test, values) for test in found for values in _cases(test))


def _passes(test: Callable[..., None], values: dict[str, Any]) -> bool:
    try:
        test(**values)
    except Exception:  # noqa: BLE001 - whatever a mutant raises, a test has noticed it
        return False
    return True


def _cases(test: Callable[..., None]) -> Iterator[dict[str, Any]]:
    """The values that a parametrised test is run with."""
    marks = [mark.args for mark in getattr(test, "pytestmark", ()) if mark.name == "parametrize"]
    choices = [[_named(names, value) for value in values] for names, values in marks]
    for chosen in itertools.product(*choices):
        yield {name: value for each in chosen for name, value in each.items()}


def _named(names: str | tuple[str, ...], value: Any) -> dict[str, Any]:
    return {names: value} if isinstance(names, str) else dict(zip(names, value, strict=True))


def _changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.Compare(ops=[operator]):
            for other in OPERATORS[type(operator)]:
                yield f"{type(operator).__name__} to {other.__name__}", _set("ops", [other()])
        case ast.If() | ast.IfExp():
            yield "condition always", _set("test", ast.Constant(True))
            yield "condition never", _set("test", ast.Constant(False))
        case ast.comprehension(ifs=[_, *_]):
            yield "filter dropped", _set("ifs", [])
        case ast.Tuple(elts=[ast.Name(), ast.Name(), *_] as entries):
            for place in range(len(entries)):
                yield f"entry {place} dropped", _drop(place)
        case _:
            yield from _small_changes(node)


def _small_changes(node: ast.AST) -> Iterator[tuple[str, Change]]:
    match node:
        case ast.BoolOp(op=operator):
            other = ast.Or() if isinstance(operator, ast.And) else ast.And()
            yield f"to {type(other).__name__.lower()}", _set("op", other)
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            yield "not dropped", _set("operand", ast.UnaryOp(ast.Not(), copy.deepcopy(operand)))
        case ast.Constant(value=int() as value) if not isinstance(value, bool):
            yield f"{value} to {value + 1}", _set("value", value + 1)
        case ast.BinOp(op=ast.Add()):
            yield "plus to minus", _set("op", ast.Sub())
        case ast.BinOp(op=ast.Sub()):
            yield "minus to plus", _set("op", ast.Add())
        case _:
            return


def _set(name: str, value: Any) -> Change:
    return lambda node: setattr(node, name, value)


def _drop(place: int) -> Change:
    return lambda node: node.elts.pop(place)
