"""Tests of the dependencies between the modules of the package."""

from __future__ import annotations

import ast
import json
import pathlib
import subprocess
import sys
from typing import Dict, Iterator, List, Set

import pytest

PACKAGE = pathlib.Path(__file__).resolve().parents[1] / "tracker"
MODULES = sorted(path.stem for path in PACKAGE.glob("*.py"))


def imported(tree: ast.AST) -> Iterator[str]:
    """Return the modules of the package that a module imports, including imports in functions and for type checkers."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            yield from [node.module] if node.module else [name.name for name in node.names]
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("tracker."):
            yield str(node.module).partition(".")[2]
        elif isinstance(node, ast.Import):
            for name in node.names:
                if name.name.startswith("tracker."):
                    yield name.name.partition(".")[2]


def parsed(module: str) -> ast.Module:
    return ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))


def cycle(graph: Dict[str, Set[str]]) -> List[str]:
    """Return modules that import each other in a cycle, or None."""
    done: Set[str] = set()
    path: List[str] = []

    def visit(module: str) -> List[str]:
        if module in path:
            return path[path.index(module):] + [module]
        if module in done:
            return []
        path.append(module)
        for other in sorted(graph[module]):
            found = visit(other)
            if found:
                return found
        path.pop()
        done.add(module)
        return []

    for module in sorted(graph):
        found = visit(module)
        if found:
            return found
    return []


def test_no_modules_import_each_other() -> None:
    graph = {module: set(imported(parsed(module))) & set(MODULES) for module in MODULES}
    assert graph["_run"] >= {"_recorder", "_card"} and "_run" in graph["_init"], "the imports were found"
    assert cycle(graph) == []
    graph["_value"].add("_run")
    assert set(cycle(graph)) >= {"_run", "_value"}, "an existing cycle is found"


@pytest.mark.parametrize("module", MODULES)
def test_no_module_uses_private_names_of_another(module: str) -> None:
    tree = parsed(module)
    own = {node.name for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.ClassDef))}
    own |= {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)}
    own |= {node.target.id for node in ast.walk(tree) if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)}
    foreign = [f"line {node.lineno}: .{node.attr}" for node in ast.walk(tree)
               if isinstance(node, ast.Attribute) and node.attr.startswith("_") and not node.attr.startswith("__")
               and node.attr not in own | {"_replace"}]  # a public method of named tuples
    names = [f"line {node.lineno}: {name.name}" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level
             for name in node.names if name.name.startswith("_") and node.module]
    assert not foreign + names


def test_import_loads_little() -> None:
    """import tracker is fast, because modules that only some programs need are imported when they are first used."""
    said = subprocess.run([sys.executable, "-c", "import sys; before = set(sys.modules); import tracker, json\n"
                           "print(json.dumps(sorted(set(sys.modules) - before)))"], capture_output=True, check=True, text=True)
    loaded = json.loads(said.stdout)
    own = [name for name in loaded if name.startswith("tracker")]
    slow = {"asyncio", "base64", "csv", "email", "hashlib", "http", "logging", "multiprocessing", "numpy", "platform", "random",
            "shutil", "socket", "sqlite3", "ssl", "subprocess", "tempfile", "unittest", "uuid"}
    assert not slow & set(loaded) and "tracker._media" not in own
    assert len(own) <= 27 and len(loaded) <= 85, loaded
