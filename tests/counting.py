"""What a piece of work costs, counted and not timed: the same on every machine, however busy."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import CodeType, FrameType, FunctionType, ModuleType
from typing import Any


def calls(work: Callable[[], object], of: FunctionType | None = None) -> int:
    """How many functions `work` calls, of Python and of C; or how often it calls one of Python."""
    count = 0

    def counted(frame: FrameType, event: str, given: object) -> None:
        nonlocal count
        code: CodeType | None = of.__code__ if of else None
        count += event == "call" and frame.f_code is code if code else event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(counted)
    try:
        work()
    finally:
        sys.setprofile(before)
    return count


def lines(work: Callable[[], object], of: ModuleType) -> int:
    """How many lines of a module, or of a package, `work` runs."""
    count, within = 0, (of.__path__[0] + "/") if hasattr(of, "__path__") else str(of.__file__)

    def line(frame: FrameType, event: str, given: object) -> Any:
        nonlocal count
        count += event == "line"
        return line if frame.f_code.co_filename.startswith(within) else None

    before = sys.gettrace()
    sys.settrace(line)
    try:
        work()
    finally:
        sys.settrace(before)
    return count
