"""A judge that looks for the key facts of a case word by word."""

from pytest_rageval import Judgement, JudgeRequest, Verdict


class KeyFactJudge:
    identity = "acme-key-facts/1"

    def judge(self, rubric: str, request: JudgeRequest, *, repeat: int = 0) -> Judgement:
        answer = request.answer.casefold()
        found = [fact.casefold() in answer for fact in request.expected_key_facts]
        score = 5.0 * sum(found) / len(found) if found else 5.0
        verdict = Verdict(
            scores={rubric: score},
            abstained=answer.startswith("i do not know"),
            reasoning=f"{sum(found)} of {len(found)} key facts",
            key_facts_found=tuple(found) if rubric == "correctness" and found else None,
        )
        return Judgement(rubric=rubric, rubric_version="1", judge=self.identity, verdict=verdict)
