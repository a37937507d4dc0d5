// Evaluation with promptfoo: an HTTP provider, two rubrics of a model, one assertion.
//
// Started by throughput.py in the folder of its project; MOCK_URL names target and judge.

import { readFileSync } from "node:fs";

const url = process.env.MOCK_URL;
const lines = readFileSync("evals/eval_set.jsonl", "utf-8").trim().split("\n");
const judge = { id: "openai:chat:m-1", config: { apiBaseUrl: `${url}/v1`, temperature: 0 } };
const target = {
  id: "http",
  config: {
    url: `${url}/ask`,
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: { question: "{{prompt}}", k: 5 },
    transformResponse: "json",
  },
};

export default {
  prompts: ["{{question}}"],
  providers: [target],
  defaultTest: {
    assert: [
      { type: "llm-rubric", value: "Each claim is stated in the chunks.", provider: judge },
      { type: "llm-rubric", value: "It answers: {{question}}", provider: judge },
      {
        type: "javascript",
        value: "output.debug.retrieved_chunks.some((one) => one.rel_path === context.vars.gold)",
      },
    ],
  },
  tests: lines.map((line) => {
    const row = JSON.parse(line);
    return {
      description: row.id,
      vars: { question: row.question, gold: row.gold_supports[0].rel_path },
    };
  }),
};
