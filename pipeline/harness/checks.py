"""What goes beyond the paper: replies held against what their sources say (contract 7.1, 7.2, 7.3, 7.7).

Each check gives faults. Where it is enforced they are raised, as any fault of an operation is; where it
warns, they are returned, for the turn's warnings.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby

from pipeline.errors import InvalidOperation
from pipeline.figures import Grounds, Place, figures, free, nearest, quotations, rounds_to
from pipeline.harness.config import Check
from pipeline.harness.environment import Environment
from pipeline.harness.operations import ConclusionUpdate, Statement
from pipeline.harness.state import State
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
    declared = {value for value, _ in constants}
    grounds = _grounds(environment, state, cited)
    missing = [
        literal
        for literal in dict.fromkeys(literals)
        if not free(literal)
        and float(literal) not in declared
        and not _any(each.operand(literal) for each in grounds)
    ]
    if not missing:
        return ()
    fault = Fault(
        "ungrounded_operand",
        f"{_named(missing)} in no statement or source of {_named(cited, verb=False)}: cite the evidence that "
        f'has it, or declare it, "constants": [{{"value": {missing[0]}, "why": "…"}}]',
    )
    return _settled(check, [fault])


def grounding(environment: Environment, state: State, statement: Statement) -> Found:
    """Check that numbers and quotations of a statement stand in its sources, and say where (contract 7.2)."""
    check = environment.extensions.grounding
    if check is Check.off:
        return Found()
    grounds = _sources(environment, state, statement.sources)
    places, missing = _places(state, statement.statement, grounds)
    where = _named(statement.sources, verb=False)
    warned = [
        Fault("ungrounded_statement", f"{shown_word!r} is no word of {where}: say only what the sources say")
        for shown_word in _lacking(statement.statement, grounds)
    ]
    if missing:
        message = f"{_named(missing)} not in {where}: say what the source says, or cite the one that says it"
        warned += _settled(check, [Fault("ungrounded_statement", message)])
    return Found(_found(places), tuple(warned))


def claims(environment: Environment, state: State, update: ConclusionUpdate) -> tuple[Fault, ...]:
    """Warn of claims with numbers or quotations that the evidence they cite does not have (contract 7.2)."""
    if environment.extensions.grounding is Check.off:
        return ()
    faults = []
    for name, index, claim in update.claims():
        if claim.evidence:
            _, missing = _places(state, claim.claim, _grounds(environment, state, claim.evidence))
            if missing:
                where = _named(claim.evidence, verb=False)
                message = f"{name}[{index}]: {_named(missing)} not in {where}"
                faults.append(Fault("ungrounded_statement", message))
    return tuple(faults)


def final(environment: Environment, state: State, cited: Sequence[str], answer: str) -> tuple[Fault, ...]:
    """Check that nothing stale is left, that the answer's numbers have a ground, and gaps (7.3, 7.7)."""
    extensions = environment.extensions
    warned: tuple[Fault, ...] = ()
    if extensions.stale_conclusions is not Check.off:
        warned += _settled(extensions.stale_conclusions, _stale(state))
    if extensions.answer is not Check.off:
        faults = [*_ungrounded_answer(environment, state, cited, answer), *_open_gaps(state)]
        warned += _settled(extensions.answer, faults)
    return warned


# --- stale conclusions


def _stale(state: State) -> list[Fault]:
    bank, said = state.evidence, list[str]()
    for name, index, claim in state.conclusion.claims() if state.conclusion else ():
        if inactive := claim.inactive(bank):
            said.append(f"{name}[{index}] rests on what is retired, {'; '.join(map(bank.fate, inactive))}")
    latest = state.computes[-1].turn if state.computes else 0
    for computed in state.computes:
        for entry in map(bank.get, computed.cited):
            retired = entry and entry.retired_turn
            if entry and retired and bank.last(entry).status == "active" and latest < retired:
                said.append(f"{computed.id} was computed from {entry.id}, and {bank.fate(entry)}")
    if not said:
        return []
    remedy = "send the conclusion as it is now, and compute again from active evidence"
    return [Fault("stale_conclusion", f"{'; '.join(said[:_LISTED])}: {remedy}")]


# --- the answer


def _ungrounded_answer(
    environment: Environment, state: State, cited: Sequence[str], answer: str
) -> list[Fault]:
    values = _values(state)
    grounds = _grounds(environment, state, cited)
    said = []
    for figure in figures(answer):
        if any(rounds_to(figure, value) for value in values.values()):
            continue
        if not _any(each.figure(figure) for each in grounds):
            closest = nearest(figure, values)
            hint = f"; {closest} is {values[closest]}" if closest else ""
            said.append(f"{figure.text}{hint}")
    if not said:
        return []
    return [
        Fault(
            "ungrounded_answer",
            f"no compute gave it, and no cited evidence has it: {', '.join(said[:_LISTED])}. Copy a value as "
            "it was computed, rounded as asked, or cite the evidence that states it",
        )
    ]


def _open_gaps(state: State) -> list[Fault]:
    """Remind of unresolved items, once: not if an earlier final was refused for them."""
    if state.conclusion is None or not state.conclusion.unresolved:
        return []
    reminded = f"invalid: ungrounded_answer: {_REMINDER}"
    for turn, exchange in enumerate(state.history.exchanges, 1):
        if exchange.observation.startswith(f"[turn {turn}] {reminded}"):
            return []
    gaps = "; ".join(gap[:80] for gap in state.conclusion.unresolved[:_LISTED])
    remedy = 'if none can change the answer, send final again, with "conclusion": {"unresolved": []}'
    return [Fault("ungrounded_answer", f"{_REMINDER}: {gaps}: {remedy}")]


# --- what is cited


def _grounds(environment: Environment, state: State, cited: Sequence[str]) -> list[Grounds]:
    """The statements that are cited, and the texts of their sources; or the sources themselves."""
    entries = [entry for each in cited if (entry := state.evidence.get(each))]
    sources = [source for entry in entries for source in entry.sources] if entries else cited
    statements = {entry.id: entry.statement for entry in entries}
    return [Grounds(statements), *_sources(environment, state, sources)]


def _sources(environment: Environment, state: State, source_ids: Sequence[str]) -> list[Grounds]:
    found = (state.sources.get(source_id) for source_id in dict.fromkeys(source_ids))
    return [environment.grounds(source) for source in found if source]


def _places(state: State, text: str, grounds: Sequence[Grounds]) -> tuple[list[tuple[str, Place]], list[str]]:
    """Where each number of a text stands, and the numbers and quotations that stand nowhere."""
    places, missing, values = list[tuple[str, Place]](), list[str](), _values(state).values()
    for figure in figures(text):
        if place := _any(each.figure(figure) for each in grounds):
            places.append((figure.text, place))
        elif not any(rounds_to(figure, value) for value in values):
            missing.append(figure.text)
    missing += (each for each in quotations(text) if not _any(ground.quotation(each) for ground in grounds))
    return places, missing


def _values(state: State) -> dict[str, float | int]:
    """The computed numbers by their ids; a truth is none."""
    return {each.id: each.value for each in state.computes if not isinstance(each.value, bool)}


def _any(places: Iterable[Place | None]) -> Place | None:
    return next(filter(None, places), None)


def _lacking(statement: str, grounds: Sequence[Grounds]) -> list[str]:
    lacking = [set(each.lacks(statement)) for each in grounds]
    return sorted(set.intersection(*lacking)) if lacking else []


def _found(places: Sequence[tuple[str, Place]]) -> str:
    """`: s1 line 3 has 1942, 4,400; …`, in the order of the statement."""
    lines = [
        f"{place.label} line {place.line} has {', '.join(shown for shown, _ in group)}"
        for place, group in groupby(places, key=lambda found: found[1])
    ]
    return f": {'; '.join(lines)}" if lines else ""


def _settled(check: Check, faults: Sequence[Fault]) -> tuple[Fault, ...]:
    """Return faults to be warned of. Raises the first as `InvalidOperation` if the check is enforced."""
    if faults and check is Check.enforce:
        raise InvalidOperation(faults[0].code, faults[0].message)
    return tuple(faults)


def _named(items: Sequence[str], *, verb: bool = True) -> str:
    """`a, b are`, or `a, b` without the verb; cut where they are many."""
    shown = ", ".join(item[:40] for item in items[:_LISTED])
    more = f" and {len(items) - _LISTED} others" if len(items) > _LISTED else ""
    return f"{shown}{more} {'is' if len(items) == 1 else 'are'}" if verb else f"{shown}{more}"
