import type { LabSummary } from "../../labs/library.js";
import type { Progress } from "../../labs/progress.js";
import { standingIn } from "./list.js";

/** What a teacher collects: one entry a lab. */
export function jsonReport(labs: readonly LabSummary[], progress: Progress): unknown {
  return {
    version: 1,
    labs: labs.map((lab) => {
      const { state, done } = standingIn(lab, progress);
      const found = state === "not-begun" ? undefined : progress.labs[lab.id];
      return {
        id: lab.id,
        number: lab.number,
        title: lab.title.en,
        state,
        stepsDone: done,
        steps: lab.steps.length,
        hints: found?.hints ?? 0,
        rightPredictions: found?.rightPredictions ?? 0,
        wrongPredictions: found?.wrongPredictions ?? 0,
        startedAt: found === undefined ? null : new Date(found.startedAtMs).toISOString(),
        finishedAt: found?.finishedAtMs === undefined ? null : new Date(found.finishedAtMs).toISOString(),
      };
    }),
  };
}

/** As JUnit's XML: a lab is a suite, a step a test case; what is not done is skipped. */
export function junitReport(labs: readonly LabSummary[], progress: Progress): string {
  const suites = labs.map((lab) => {
    const done = new Set(standingIn(lab, progress).state === "not-begun" ? [] : progress.labs[lab.id]?.done);
    const skipped = lab.steps.filter((step) => !done.has(step)).length;
    const cases = lab.steps.map((step) => {
      const open = `    <testcase classname="${attribute(lab.id)}" name="${attribute(step)}"`;
      return done.has(step) ? `${open}/>` : `${open}><skipped/></testcase>`;
    });
    const head = `  <testsuite name="${attribute(`${lab.number} ${lab.title.en}`)}" tests="${lab.steps.length}" skipped="${skipped}" failures="0">`;
    return [head, ...cases, "  </testsuite>"].join("\n");
  });
  return ['<?xml version="1.0" encoding="UTF-8"?>', '<testsuites name="kubelab">', ...suites, "</testsuites>"].join(
    "\n",
  );
}

function attribute(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll('"', "&quot;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
