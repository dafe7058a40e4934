import type { Fact } from "../../src/trace/events.js";
import { Trace } from "../../src/trace/trace.js";

/** The texts of a fact that must not be empty: a fact that has no answer to "why" is a bug. */
function textsOf(fact: Fact): readonly string[] {
  switch (fact.kind) {
    case "step":
      return [fact.title];
    case "decision":
      return [fact.what, fact.why];
    case "state":
      return [fact.subject, fact.to];
    case "event":
      return [fact.reason, fact.message, fact.object];
    case "note":
      return [fact.text];
    case "error":
      return [fact.message];
    case "table":
      return fact.columns;
    case "request":
      return fact.status === undefined ? [fact.path, fact.failure ?? ""] : [fact.path];
    case "rpc":
      return [fact.service, fact.method, fact.code ?? fact.outcome ?? ""];
    case "watch":
      return [fact.resource, fact.object];
    case "frame":
      return [fact.type];
    case "story":
      return [fact.title, ...fact.steps.map(({ text }) => text)];
  }
}

/** Facts of the running test that lack a reason. Importing this module checks every trace of the process. */
export const incomplete: Fact[] = [];
const emit = Trace.prototype.emit;
Trace.prototype.emit = function checked(this: Trace, fact, options) {
  if (textsOf(fact).some((text) => text.trim() === "")) incomplete.push(fact);
  return emit.call(this, fact, options);
};
