"""What each operation does: references, then resources, then the deed itself (contract, section 3).

Every action is pure: it takes the state and a well-formed operation, and returns what that leads to, or
raises `InvalidOperation`, and then nothing has changed (contract 2.2).
"""

from __future__ import annotations

from pipeline.harness.editing import revise, revise_batch, upsert
from pipeline.harness.environment import Effect, Environment
from pipeline.harness.operations import (
    BatchRevise,
    Compute,
    Final,
    Operation,
    Read,
    Revise,
    Search,
    SourcedCompute,
    SourcedFinal,
    Upsert,
)
from pipeline.harness.retrieval import read, search
from pipeline.harness.state import State
from pipeline.harness.transformation import compute, final


def perform(environment: Environment, state: State, operation: Operation) -> Effect:
    """Execute a well-formed operation. Raises `InvalidOperation` if its references or resources don't do."""
    match operation:
        case Search():
            return search(environment, state, operation)
        case Read():
            return read(environment, state, operation)
        case Upsert():
            return upsert(environment, state, operation)
        case Revise():
            return revise(environment, state, operation)
        case BatchRevise():
            return revise_batch(environment, state, operation)
        case Compute() | SourcedCompute():
            return compute(environment, state, operation)
        case Final() | SourcedFinal():
            return final(environment, state, operation)
