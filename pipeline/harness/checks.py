"""What goes beyond the paper: replies held against what their sources say (contract 7.1, 7.2, 7.3, 7.7).

Each check gives faults. Where it is enforced they are raised, as any fault of an operation is; where it
warns, they are returned, for the turn's warnings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from pipeline.errors import InvalidOperation
from pipeline.figures import Grounds, Place, Text, figures, free, nearest, quotations, rounds_to
from pipeline.harness.config import Check
from pipeline.harness.environment import Environment
from pipeline.harness.evidence import Entry
from pipeline.harness.operations import ConclusionUpdate, Statement
from pipeline.harness.state import Computed, State
from pipeline.harness.turn import Fault

_REMINDER = "unresolved items are open"
_LISTED = 10  # of what is wrong, in one message


@dataclass(frozen=True)
class Found:
    """Where the numbers of a statement stand: the end of its line in an observation, and warnings."""

    line: str = ""
    warnings: tuple[Fault, ...] = ()


def operands(
    environment: Environment,
    state: State,
    cited: Sequence[str],
    literals: Sequence[str],
    constants: Sequence[tuple[float, str]],
) -> tuple[Fault, ...]:
    """Check that the literals of an expression stand in what it cites, or are declared (contract 7.1)."""
    check = environment.extensions.operands
    if check is Check.off:
        return ()
    declared = {abs(value) for value, _ in constants}
    grounds = _grounds(environment, state, cited)
    sought = [each for each in dict.fromkeys(literals) if not free(each) and abs(float(each)) not in declared]
    missing = [each for each in sought if not grounds.operand(each)]
    if not missing:
        return ()
    value = f"{float(missing[0]):.15g}"
    remedy = f'cite the evidence that has it, or declare it, "constants": [{{"value": {value}, "why": "…"}}]'
    message = f"{_listed(missing)} {_be(missing)} in no statement or source of {_listed(cited)}"
    return _settled(check, [Fault("ungrounded_operand", message)], remedy)


def grounding(environment: Environment, state: State, statement: Statement) -> Found:
    """Check that numbers and quotations of a statement stand in its sources, and say where (contract 7.2)."""
    check = environment.extensions.grounding
    if check is Check.off:
        return Found()
    grounds = _grounds(environment, state, statement.sources)
    places, missing, units = _held(state, statement.statement, grounds)
    where = _listed(statement.sources)
    warned = [Fault("ungrounded_statement", f"{unit!r} is no word of {where}") for unit in units]
    if missing:
        remedy = "say what the source says, or cite the one that says it"
        message = f"{_listed(missing)} {_be(missing)} not in {where}"
        warned += _settled(check, [Fault("ungrounded_statement", message)], remedy)
    return Found(_found(places), tuple(warned))


def claims(environment: Environment, state: State, update: ConclusionUpdate) -> tuple[Fault, ...]:
    """Warn of claims with what the evidence that they cite, or none, does not have (contract 7.2)."""
    if environment.extensions.grounding is Check.off:
        return ()
    faults = []
    for name, index, claim in update.claims():
        cited = claim.evidence or ()
        _, missing, units = _held(state, claim.claim, _grounds(environment, state, cited))
        if lacking := [*missing, *units]:
            where = f"in {_listed(cited)}" if cited else "in evidence: the claim cites none"
            message = f"{name}[{index}]: {_listed(lacking)} {_be(lacking)} not {where}"
            faults.append(Fault("ungrounded_statement", message))
    return tuple(faults)


def final(
    environment: Environment, state: State, cited: Sequence[str], answer: str, computes: Sequence[str]
) -> tuple[Fault, ...]:
    """Check that nothing stale is left or named, that numbers have a ground, and gaps (7.3, 7.7)."""
    extensions = environment.extensions
    warned: tuple[Fault, ...] = ()
    if extensions.stale_conclusions is not Check.off:
        remedy = "send the conclusion as it is now, and compute again from active evidence"
        warned += _settled(extensions.stale_conclusions, _stale(state, computes), remedy)
    if extensions.answer is not Check.off:
        remedy = "copy a value as it was computed, rounded as asked, or cite the evidence that states it"
        warned += _settled(extensions.answer, _ungrounded_answer(environment, state, cited, answer), remedy)
        remedy = 'if none can change the answer, send final again, with "conclusion": {"unresolved": []}'
        warned += _settled(extensions.answer, _open_gaps(state), remedy)
    return warned


# --- stale conclusions


def _stale(state: State, named: Sequence[str]) -> list[Fault]:
    bank, said = state.evidence, list[str]()
    for name, index, claim in state.conclusion.claims() if state.conclusion else ():
        if inactive := claim.inactive(bank):
            said.append(f"{name}[{index}] rests on what is retired, {'; '.join(map(bank.fate, inactive))}")
    latest = state.computes[-1].turn if state.computes else 0
    for computed in state.computes:
        old = [entry for entry in _replaced(state, computed) if latest < (entry.retired_turn or 0)]
        for entry in _retired(state, computed) if computed.id in named else old:
            said.append(f"{computed.id} was computed from {entry.id}, and {bank.fate(entry)}")
    return [Fault("stale_conclusion", "; ".join(said[:_LISTED]))] if said else []


def _retired(state: State, computed: Computed) -> list[Entry]:
    """The evidence of a compute that is no longer active: naming the compute would be to cite it (3.16)."""
    entries = [entry for each in computed.cited if (entry := state.evidence.get(each))]
    return [entry for entry in entries if entry.status != "active"]


def _replaced(state: State, computed: Computed) -> list[Entry]:
    """The evidence of a compute that has an active successor: its value is that of an old figure."""
    return [entry for entry in _retired(state, computed) if state.evidence.last(entry).status == "active"]


# --- the answer


def _ungrounded_answer(
    environment: Environment, state: State, cited: Sequence[str], answer: str
) -> list[Fault]:
    values, grounds = _values(state), _grounds(environment, state, cited)
    shown = {computed.id: computed.text for computed in state.computes}
    said = []
    for figure in figures(answer):
        if not any(rounds_to(figure, value) for value in values.values()) and not grounds.figure(figure):
            closest = nearest(figure, values)
            said.append(f"{figure.text}; {closest} is {shown[closest]}" if closest else figure.text)
    message = f"no compute gave it, and no cited evidence has it: {', '.join(said[:_LISTED])}"
    return [Fault("ungrounded_answer", message)] if said else []


def _open_gaps(state: State) -> list[Fault]:
    """Remind of unresolved items, once, and not where no turn is left to heed it."""
    if state.conclusion is None or not state.conclusion.unresolved or not state.budget.turns_left:
        return []
    if any(
        exchange.error and exchange.error.message.startswith(_REMINDER)
        for exchange in state.history.exchanges
    ):
        return []
    gaps = "; ".join(gap[:80] for gap in state.conclusion.unresolved[:_LISTED])
    return [Fault("ungrounded_answer", f"{_REMINDER}: {gaps}")]


# --- what is cited


def _grounds(environment: Environment, state: State, cited: Sequence[str]) -> Grounds:
    """The statements that are cited, and the texts of their sources; or the sources themselves."""
    entries = [entry for each in cited if (entry := state.evidence.get(each))]
    source_ids = [source for entry in entries for source in entry.sources] if entries else cited
    texts: dict[str, str | Text] = {entry.id: entry.statement for entry in entries}
    for source_id in source_ids:
        if source := state.sources.get(source_id):
            texts |= environment.texts(source)
    return Grounds(texts)


def _held(
    state: State, text: str, grounds: Grounds
) -> tuple[list[tuple[str, Place]], list[str], tuple[str, ...]]:
    """Where each number of a text stands, the numbers and quotations that stand nowhere, and the unit words.

    A computed value, at the text's own rounding, needs no place.
    """
    places, missing, values = list[tuple[str, Place]](), list[str](), _values(state).values()
    for figure in figures(text):
        if place := grounds.figure(figure):
            places.append((figure.text, place))
        elif not any(rounds_to(figure, value) for value in values):
            missing.append(figure.text)
    missing += (each for each in quotations(text) if not grounds.quotation(each))
    return places, missing, grounds.lacks(text)


def _values(state: State) -> dict[str, float | int]:
    """The computed numbers by their ids; not truths, nor what was computed from evidence since replaced."""
    numbers = (each for each in state.computes if not isinstance(each.value, bool))
    return {each.id: each.value for each in numbers if not _replaced(state, each)}


def _found(places: Sequence[tuple[str, Place]]) -> str:
    """`: s1 line 3 has 1942, 4,400; …`, in the order of the statement."""
    lines = [
        f"{place.label} line {place.line} has {', '.join(shown for shown, _ in group)}"
        for place, group in groupby(places, key=lambda found: found[1])
    ]
    return f": {'; '.join(lines)}" if lines else ""


def _settled(check: Check, faults: Sequence[Fault], remedy: str) -> tuple[Fault, ...]:
    """Return faults to be warned of; raises the first, with its remedy, if the check is enforced."""
    if faults and check is Check.enforce:
        raise InvalidOperation(faults[0].code, f"{faults[0].message}: {remedy}")
    return tuple(faults)


def _listed(items: Sequence[str]) -> str:
    more = f" and {len(items) - _LISTED} others" if len(items) > _LISTED else ""
    return f"{', '.join(item[:40] for item in items[:_LISTED])}{more}"


def _be(items: Sequence[str]) -> str:
    return "is" if len(items) == 1 else "are"
