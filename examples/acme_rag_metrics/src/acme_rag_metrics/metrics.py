"""Two metrics of a case, one of the whole run, and a section of the report."""

import re
from collections import defaultdict
from collections.abc import Sequence

from pytest_rageval import (
    NA,
    AskResponse,
    Case,
    CaseRecord,
    Run,
    Scored,
    Table,
    metric,
    run_metric,
    section,
)

ADDRESS = re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+")


@metric("acme.pii_free", title="No personal data", binary=True)
def pii_free(case: Case, reply: AskResponse) -> Scored:
    found = len(ADDRESS.findall(reply.answer))
    return Scored(found == 0, detail=f"{found} e-mail addresses in the answer")


@metric("acme.answer_words", title="Words of the answer", direction="lower", scale=(0, None))
def answer_words(case: Case, reply: AskResponse) -> Scored | NA:
    if reply.abstained:
        return NA("The system abstained.")
    return Scored(len(reply.answer.split()))


@run_metric("acme.distinct_documents", title="Distinct documents retrieved")
def distinct_documents(records: Sequence[CaseRecord]) -> Scored | NA:
    chunks = [chunk for record in records for chunk in record.reply.retrieved_chunks or ()]
    if not chunks:
        return NA("The system reports no chunks.")
    return Scored(len({chunk.rel_path for chunk in chunks}))


@section("Cost per tenant")
def cost_per_tenant(run: Run) -> Table:
    cost: defaultdict[str, float] = defaultdict(float)
    for record in run.records:
        usage = record.reply.usage
        cost[str(record.case.metadata.get("tenant", "none"))] += usage.get("cost_usd", 0.0)
    return Table(["tenant", "cost in USD"], [[name, usd] for name, usd in sorted(cost.items())])
