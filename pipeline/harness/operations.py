"""The operations: the one definition that validation, the JSON schema and the prompt's list derive from.

Every model below is a form that the policy may send (contract, section 8). Types are strict, unknown fields
are errors, and `null` in an optional field means that it is absent. What these models do not check is checked
by the controller, after the form: whether a variant has the operation, references, resources (contract 2.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    SkipValidation,
    Tag,
)

from pipeline.harness.config import ConclusionForm, SwitchesConfig


def _not_blank(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    return text


def _bare_claim(claim: object) -> object:
    """A claim given as a bare string has no evidence (contract 2.5)."""
    return {"claim": claim, "evidence": []} if isinstance(claim, str) else claim


def _number_as_text(answer: object) -> object:
    """An answer given as JSON number is taken as text, digit for digit (contract 3.21)."""
    if isinstance(answer, int | float) and not isinstance(answer, bool):
        return getattr(answer, "literal", None) or str(answer)
    return answer


def _passage_or_document(location: object) -> str:
    return "passage" if isinstance(location, Mapping) and "passage" in location else "document"


# An empty list of references is `missing_evidence`, an error of a later stage than the form's: only the
# schema knows of the minimum.
_AT_LEAST_ONE: dict[str, Any] = {"minItems": 1}

Text = Annotated[str, AfterValidator(_not_blank), Field(min_length=1)]
EvidenceId = Annotated[str, Field(examples=["e1"])]
SourceId = Annotated[str, Field(examples=["s1"])]
EvidenceIds = Annotated[list[EvidenceId], Field(json_schema_extra=_AT_LEAST_ONE)]
SourceIds = Annotated[list[SourceId], Field(json_schema_extra=_AT_LEAST_ONE)]


class Form(BaseModel):
    """Base of all that a policy sends: strict types, no unknown field, immutable."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class Search(Form):
    """Contract 3.1 to 3.4."""

    name: Literal["search"]
    query: Text
    documents: list[Annotated[str, Field(examples=["id or glob"])]] | None = None
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None
    order: Literal["score", "document"] | None = None


class PassageLocation(Form):
    """A passage that a search named, whole."""

    passage: Annotated[str, Field(examples=["id#n"])]


class DocumentLocation(Form):
    """A range of a document, in code points; by default from its start to its end."""

    document: Annotated[str, Field(examples=["id"])]
    start: int | None = None
    end: int | None = None


Location = Annotated[
    Annotated[PassageLocation, Tag("passage")] | Annotated[DocumentLocation, Tag("document")],
    Discriminator(_passage_or_document),
]


class Read(Form):
    """Contract 3.5 to 3.9."""

    name: Literal["read"]
    locations: Annotated[list[Location], Field(min_length=1)]


class Statement(Form):
    """What a source says, and which source: one item of an upsert, or a replacement (contract 3.11)."""

    statement: Text
    sources: SourceIds


class Upsert(Form):
    """Contract 3.10 to 3.12. Each item is validated on its own, so here they pass as they are."""

    name: Literal["evidence"]
    upsert: Annotated[list[SkipValidation[Statement]], Field(min_length=1)]


class Revision(Form):
    """One active entry and what replaces it; `null` retracts it."""

    id: EvidenceId
    replacement: Statement | None


class Revise(Form):
    """Contract 3.13 to 3.17."""

    name: Literal["evidence"]
    revise: Revision


class BatchRevise(Form):
    """Contract 7.6. Each item is validated on its own, as an upsert's are."""

    name: Literal["evidence"]
    revise: Annotated[list[SkipValidation[Revision]], Field(min_length=1)]


class Constant(Form):
    """A number of an expression that stands in no evidence, declared with its reason (contract 7.1)."""

    value: Annotated[float, Field(allow_inf_nan=False)]
    why: Text


class Compute(Form):
    """Contract 3.18 and 3.19."""

    name: Literal["compute"]
    expression: str
    evidence: EvidenceIds
    constants: list[Constant] | None = None


class SourcedCompute(Form):
    """A compute without an EvidenceBank: it rests on sources (contract, section 6)."""

    name: Literal["compute"]
    expression: str
    sources: SourceIds
    constants: list[Constant] | None = None


Answer = Annotated[str, BeforeValidator(_number_as_text, json_schema_input_type=str | float)]
ComputeIds = list[Annotated[str, Field(examples=["c1"])]]


class Final(Form):
    """Contract 3.20 to 3.22."""

    name: Literal["final"]
    answer: Answer
    evidence: EvidenceIds
    computes: ComputeIds | None = None


class SourcedFinal(Form):
    """A final without an EvidenceBank: it cites sources (contract, section 6)."""

    name: Literal["final"]
    answer: Answer
    sources: SourceIds
    computes: ComputeIds | None = None


Operation = Search | Read | Upsert | Revise | BatchRevise | Compute | SourcedCompute | Final | SourcedFinal
NAMES = ("search", "read", "evidence", "compute", "final")


class EstablishedClaim(Form):
    """An established claim needs at least one id (contract 2.5)."""

    claim: Text
    evidence: EvidenceIds


class Hypothesis(Form):
    """A hypothesis may cite no evidence (contract 2.5)."""

    claim: Text
    evidence: list[EvidenceId] | None = None


BareOrEstablished = Annotated[EstablishedClaim, BeforeValidator(_bare_claim)]
BareOrHypothesis = Annotated[
    Hypothesis, BeforeValidator(_bare_claim, json_schema_input_type=Hypothesis | Text)
]


class ConclusionUpdate(Form):
    """A partial update: a list that it gives replaces the old one whole (contract 2.3)."""

    established: list[BareOrEstablished] | None = None
    hypotheses: list[BareOrHypothesis] | None = None
    unresolved: list[Text] | None = None

    def claims(self) -> Iterator[tuple[str, int, EstablishedClaim | Hypothesis]]:
        """Yield every claim with its list's name and its index there."""
        for index, established in enumerate(self.established or ()):
            yield "established", index, established
        for index, hypothesis in enumerate(self.hypotheses or ()):
            yield "hypotheses", index, hypothesis


class Response(Form):
    """A whole response. Its parts are validated apart: each has errors of its own (contract 2.2, 2.5)."""

    thought: str | None = None
    operation: dict[str, Any]


class ConcludingResponse(Response):
    """A response of a variant with a structured Conclusion State."""

    conclusion: SkipValidation[ConclusionUpdate] | None = None


class NotingResponse(Response):
    """A response of the variant whose Conclusion State is free text."""

    notes: SkipValidation[str] | None = None


def response_form(switches: SwitchesConfig) -> type[Response]:
    """Return the form of a response in a variant (contract, section 6)."""
    forms: dict[ConclusionForm, type[Response]] = {
        ConclusionForm.structured: ConcludingResponse,
        ConclusionForm.notes: NotingResponse,
        ConclusionForm.none: Response,
    }
    return forms[switches.conclusion]


def operation_forms(switches: SwitchesConfig, batch_revise: bool = False) -> tuple[type[Operation], ...]:
    """Return the operations of a variant, in the order in which they are told (contract, section 6).

    `batch_revise` says whether a list of revisions is one of them (contract 7.6).
    """
    if not switches.evidence_bank:
        return (Search, Read, SourcedCompute, SourcedFinal)
    batch: tuple[type[Operation], ...] = (BatchRevise,) if batch_revise else ()
    evidence: tuple[type[Operation], ...] = (Upsert, Revise, *batch) if switches.revise else (Upsert,)
    return (Search, Read, *evidence, Compute, Final)
