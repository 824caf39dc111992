"""Imports point one way, floor by floor, and the runtime knows no machine."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "pipeline"
FLOORS = (
    ("errors", "protocols", "paths"),
    ("plugins",),
    ("corpus", "backbone", "calculator", "figures"),
    ("harness", "benchmarks"),
    ("runs",),
    ("analysis",),
    ("config",),
    ("cli",),
    ("__main__",),
)
FLOOR = {part: number for number, parts in enumerate(FLOORS) for part in parts}
PURE = ("harness", "calculator", "figures")
OF_RUNS_FOR_ANALYSIS = ("pipeline.runs.tables", "pipeline.runs.folder", "pipeline.runs.schemas")
IMPURE = {
    "aiohttp", "asyncio", "datetime", "fcntl", "glob", "http", "io", "multiprocessing", "os", "pathlib",
    "random", "ray", "requests", "secrets", "shutil", "signal", "socket", "subprocess", "sys", "tempfile",
    "threading", "time", "urllib", "uuid",
}  # fmt: skip
HEAVY = {"ray", "pyarrow", "aiohttp", "hydra", "omegaconf", "numpy", "rich", "pydantic"}


def modules(folder: Path = PACKAGE) -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(PACKAGE.parent).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def runtime_nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Yield every node but those that only a type checker sees."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
            continue
        yield node
        yield from runtime_nodes(node)


def imported(module: str, tree: ast.Module, types: bool = True) -> Iterator[str]:
    """Yield the full name of everything that a module imports; with `types`, for type checkers too."""
    for node in ast.walk(tree) if types else runtime_nodes(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module} imports relatively: write the full name"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def part(name: str) -> str | None:
    """Return the part of the package that a full name belongs to."""
    names = name.split(".")
    return names[1] if names[0] == "pipeline" and len(names) > 1 else None


def test_every_part_of_the_package_has_a_floor() -> None:
    parts = {
        path.stem for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert parts - {"__init__"} == set(FLOOR)


def test_imports_point_one_way() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, tree in modules()
        for name in imported(module, tree, types=part(module) not in ("protocols", "errors"))
        if (own := part(module)) and (other := part(name)) and own != other and FLOOR[other] >= FLOOR[own]
    ]
    assert wrong == []


def test_analysis_knows_of_runs_only_the_tables_and_the_folder() -> None:
    wrong = [
        f"{module} imports {name}"
        for module, tree in modules(PACKAGE / "analysis")
        for name in imported(module, tree)
        if name.startswith("pipeline.runs")
        and not any(name == known or name.startswith(f"{known}.") for known in OF_RUNS_FOR_ANALYSIS)
        and name not in ("pipeline.runs.tables", "pipeline.runs.folder")
    ]
    assert wrong == []


@pytest.mark.parametrize("package", PURE)
def test_the_runtime_knows_no_file_no_clock_no_network_and_no_chance(package: str) -> None:
    wrong = [
        f"{module} imports {name}"
        for module, tree in modules(PACKAGE / package)
        for name in imported(module, tree, types=False)
        if name.split(".")[0] in IMPURE
    ]
    opened = [
        f"{module} calls {call}"
        for module, tree in modules(PACKAGE / package)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and (call := ast.unparse(node.func)) in ("open", "print", "input", "eval", "exec")
    ]
    assert wrong + opened == []


def test_the_reference_policy_imports_nothing_of_the_project() -> None:
    """It sees chat requests alone: no gold, no variant, no question but what a prompt says."""
    wrong = [
        f"{module} imports {name}"
        for module, tree in modules(PACKAGE / "backbone" / "reference")
        for name in imported(module, tree)
        if part(name)
        and not name.startswith("pipeline.backbone.reference.")
        and name != "pipeline.backbone.reference"
    ]
    assert wrong == []


def test_no_module_of_ours_imports_vllm() -> None:
    assert [m for m, tree in modules() if any(n.split(".")[0] == "vllm" for n in imported(m, tree))] == []


@pytest.mark.parametrize(
    "module", ["pipeline/cli/__init__.py", "pipeline/config/__init__.py", "pipeline/errors.py"]
)
def test_what_every_command_loads_is_light(module: str) -> None:
    tree = ast.parse((PACKAGE.parent / module).read_text(encoding="utf-8"))
    top = {name.split(".")[0] for node in tree.body for name in names_of(node)}
    assert not top & HEAVY


def names_of(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    return [node.module or ""] if isinstance(node, ast.ImportFrom) else []


def test_importing_a_module_has_no_side_effect_that_is_written_at_its_top() -> None:
    """No call stands alone at a module's top level: no registry fills, nothing is printed or created."""
    wrong = [
        f"{module}: {ast.unparse(node)}"
        for module, tree in modules()
        for node in tree.body
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
    ]
    assert wrong == []
