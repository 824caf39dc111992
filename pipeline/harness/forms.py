"""From what was sent to a typed operation: names, fields and types, and errors that say what to send."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pipeline.errors import InvalidOperation
from pipeline.harness.config import SwitchesConfig
from pipeline.harness.operations import (
    NAMES,
    BatchRevise,
    Operation,
    Revise,
    Upsert,
    operation_forms,
    response_form,
)
from pipeline.harness.schema import fields_at, signature

_SHOWN = 80  # characters of an offending value that an error repeats
_EVIDENCE = ("upsert", "revise")  # an evidence operation has exactly one of these
F = TypeVar("F", bound=BaseModel)


@dataclass(frozen=True)
class Sent:
    """A well-formed response: its operation, and the unchecked update beside it. `None` is absent."""

    operation: Operation
    conclusion: object = None
    notes: object = None


def shown(value: object) -> str:
    """Return `value` as JSON, cut to a length that an error can carry."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"


def operation_name(response: Mapping[str, Any]) -> str:
    """Return the name of a response's operation, one of `NAMES`.

    Raises `InvalidOperation`: `invalid_arguments` if it has no name, `unknown_operation` for another name.
    """
    operation = response["operation"]
    if not isinstance(operation.get("name"), str):
        problem = f"has a mistyped name, {shown(operation['name'])}" if "name" in operation else "has no name"
        raise InvalidOperation(
            "invalid_arguments", f"the operation {problem}: give one of {', '.join(NAMES)}"
        )
    name: str = operation["name"]
    if name not in NAMES:
        nearest = get_close_matches(name[:40].lower(), NAMES, n=1)
        hint = f" (did you mean {nearest[0]}?)" if nearest else ""
        raise InvalidOperation(
            "unknown_operation",
            f"there is no operation {shown(name)}{hint}: there are {', '.join(NAMES)}",
        )
    return name


def read_response(response: Mapping[str, Any], switches: SwitchesConfig, batch_revise: bool = False) -> Sent:
    """Read a parsed response in a variant (contract 2.2: operation name, fields and types, availability).

    Raises `InvalidOperation`: `unknown_operation`, `invalid_arguments` or `operation_not_available`.
    """
    name = operation_name(response)
    wrapper = validate(response_form(switches), response, "the response")
    operation = {
        key: value
        for key, value in response["operation"].items()
        if key not in _EVIDENCE or value is not None
    }
    available = operation_forms(switches, batch_revise)
    form = _form(name, operation, available)
    read = validate(form, operation, name)
    if form not in available:
        what = f"evidence with {_EVIDENCE[1]}" if form is Revise and Upsert in available else name
        raise InvalidOperation(
            "operation_not_available",
            f"{what} is not available here; send one of {' or '.join(map(signature, available))}",
        )
    return Sent(read, getattr(wrapper, "conclusion", None), getattr(wrapper, "notes", None))


def _form(name: str, operation: Mapping[str, Any], available: Sequence[type[Operation]]) -> type[Operation]:
    """The form that an operation is read as: the variant's own; for evidence, what it is elsewhere."""
    if name != "evidence":
        return next(form for form in available if name in get_args(form.model_fields["name"].annotation))
    given = [field for field in _EVIDENCE if field in operation]
    if given == ["upsert"]:
        return Upsert
    if given == ["revise"]:
        batch = BatchRevise in available and isinstance(operation["revise"], list)
        return BatchRevise if batch else Revise
    forms = [form for form in available if form in (Upsert, Revise)] or [Upsert]
    raise InvalidOperation(
        "invalid_arguments",
        f"evidence takes exactly one of {' and '.join(_EVIDENCE)}, "
        f"and got {' and '.join(given) or 'neither'}; send {' or '.join(map(signature, forms))}",
    )


def validate(form: type[F], sent: object, what: str) -> F:
    """Return `sent` as `form`. Raises `InvalidOperation` (`invalid_arguments`) for the first fault in it."""
    try:
        return form.model_validate(sent)
    except ValidationError as error:
        fault = explain(form, error.errors(include_url=False)[0], what)
        raise InvalidOperation("invalid_arguments", f"{fault}; send {signature(form)}") from error


def explain(form: type[BaseModel], fault: ErrorDetails, what: str) -> str:
    """Say in words which rule a validation error broke, where, and with which value."""
    where = f"{what}: {_path(fault['loc'])}" if fault["loc"] else what
    if fault["type"] == "extra_forbidden":
        allowed = ", ".join(fields_at(form, fault["loc"][:-1]))
        beside = " (it stands beside the operation)" if fault["loc"][-1] in ("conclusion", "notes") else ""
        given = shown(fault["input"])
        return f"{where} is an unknown field{beside} ({given}); the allowed fields are {allowed}"
    if fault["type"] == "missing":
        return f"{where} is missing"
    rule = fault["msg"].removeprefix("Value error, ").replace("Input should", "should")
    return f"{where} {rule}, and is {shown(fault['input'])}"


def _path(location: Sequence[str | int]) -> str:
    """A field's path, `locations[0].start`, without the tag that tells which of two forms a location has."""
    steps = [step for i, step in enumerate(location) if not (i == 2 and location[0] == "locations")]
    named = (f"[{step}]" if isinstance(step, int) else f".{step[:_SHOWN]}" for step in steps)
    return "".join(named).lstrip(".")
