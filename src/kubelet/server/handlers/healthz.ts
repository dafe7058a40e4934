import { httpError, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";

interface Check {
  readonly name: string;
  /** @returns why it fails; undefined: it does not */
  readonly problem: (deps: HandlerDeps) => string | undefined;
}

const CHECKS: readonly Check[] = [
  { name: "ping", problem: () => undefined },
  // Nothing that logs can block here: a trace is written by whoever makes it.
  { name: "log", problem: () => undefined },
  { name: "syncloop", problem: ({ host }) => host.syncLoopProblem() },
];

/** Mirrors k8s.io/apiserver/pkg/server/healthz/healthz.go (handleRootHealth, adaptCheckToHandler). */
export function serveHealthz(deps: HandlerDeps, call: Call): void {
  const name = call.path.slice("/healthz/".length);
  const one = CHECKS.find((check) => check.name === name);
  if (one === undefined) serveAll(deps, call);
  else serveOne(call, one.problem(deps));
}

function serveOne({ response }: Call, problem: string | undefined): void {
  if (problem === undefined) writeText(response, 200, "ok");
  else httpError(response, 500, `internal server error: ${problem}`);
}

function serveAll(deps: HandlerDeps, { query, response }: Call): void {
  const excluded = new Set(query.getAll("exclude"));
  let text = "";
  let hasFailed = false;
  for (const { name, problem } of CHECKS) {
    if (excluded.delete(name)) {
      text += `[+]${name} excluded: ok\n`;
    } else if (problem(deps) === undefined) {
      text += `[+]${name} ok\n`;
    } else {
      hasFailed = true;
      text += `[-]${name} failed: reason withheld\n`;
    }
  }
  if (excluded.size > 0) {
    const names = [...excluded].sort().map((name) => JSON.stringify(name));
    text += `warn: some health checks cannot be excluded: no matches for ${names.join(",")}\n`;
  }
  if (hasFailed) {
    httpError(response, 500, `${text}healthz check failed`);
    return;
  }
  response.setHeader("X-Content-Type-Options", "nosniff");
  writeText(response, 200, query.has("verbose") ? `${text}healthz check passed\n` : "ok");
}
