import { translated } from "../../../trace/translated.js";
import type { Say } from "../../../util/i18n/sentences.js";
import { type Evidence, evidenceFor, evidenceOfStep } from "../checks/evidence.js";
import type { Verdict } from "../checks/leaf-check.js";
import type { LabEnvironment } from "../environment/environment.js";
import type { LabMessage } from "./message.js";

/**
 * The evidence that a learner sees after a right verdict or answer: tables of the state that the check printed, and the
 * deciding facts. If no fact is known, the deciding line.
 * @param sayFact the learner's language; undefined: English
 * @param isDecided the step is a question or a task
 * @param factsBefore how many facts there were when the step began
 * @param most the limit of facts to show
 */
export function verdictEvidence(
  { observations = [], tables = [], isRaw = false, isPrinted = false, prints = "", seen }: Verdict,
  facts: LabEnvironment["facts"],
  sayFact: Say | undefined,
  {
    isDecided,
    factsBefore,
    most,
  }: { readonly isDecided: boolean; readonly factsBefore: number; readonly most?: number },
): readonly LabMessage[] {
  const inWords = (evidence: Evidence): Evidence =>
    sayFact === undefined ? evidence : { ...evidence, facts: evidence.facts.map((one) => translated(one, sayFact)) };
  const shown: LabMessage[] = tables.map((table) => ({ kind: "table", ...table }));
  const evidence = evidenceFor(observations, facts.since(), most);
  const lines = new Set(
    observations.flatMap((observation) =>
      "meanwhile" in observation && observation.prints !== "" ? [observation.prints] : [],
    ),
  );
  const looks = Array.from(lines, (line): LabMessage => ({ kind: "look", line }));
  if (evidence !== undefined) return [...shown, { kind: "evidence", ...inWords(evidence) }, ...looks];
  if (tables.length > 0 || !(isDecided || isPrinted)) return shown;
  // The deciding line explains more than other effects of the commands.
  const hasLine = isPrinted || prints !== "";
  const ofStep = hasLine ? undefined : evidenceOfStep(facts.since(factsBefore), facts.since(), most);
  if (ofStep !== undefined) return [{ kind: "evidence", isOfStep: true, ...inWords(ofStep) }];
  return prints !== "" || !isRaw ? [{ kind: "look", line: prints || seen }] : [];
}
