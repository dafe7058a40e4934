import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { plainText } from "../../../trace/terminal/options.js";
import { renderEvent } from "../../../trace/terminal/render-event.js";
import { answerFileOf } from "../format/mistakes.js";
import type { Step } from "../format/schema.js";
import type { LabMessage } from "../session/message.js";

const UNBROKEN = plainText({ width: () => Number.POSITIVE_INFINITY, verbosity: 2, startMs: 0 });
/** Shorter answers and numbers occur in many lines by chance; an answer of several lines is a program's output. */
const SECRET = /^(?=.*[a-z]).{4,}$/i;

/** Finds evidence that reveals the answer or the field of a later task. */
export class Leaks {
  /** texts of the lab and output of commands, which are no longer secret */
  #known = "";
  readonly #evidence: { readonly step: string; readonly lines: readonly string[] }[] = [];

  /** @param folder the lab's, with the learner's answers */
  constructor(readonly folder: string) {}

  /** Call it for each step that is done. @returns the parts of it that earlier steps have shown */
  async problemsOf(step: Step, messages: readonly LabMessage[]): Promise<readonly string[]> {
    const found: string[] = [];
    for (const secret of "check" in step ? await this.#secretsOf(step) : []) {
      for (const earlier of this.#evidence) {
        if (!earlier.lines.some((line) => line.includes(secret))) continue;
        found.push(`${earlier.step}: its evidence shows what ${step.id} asks for: ${secret}`);
      }
    }
    this.#evidence.push({ step: step.id, lines: messages.flatMap(evidenceIn) });
    this.know(messages);
    return found;
  }

  /** Records texts that a learner has read. */
  know(messages: readonly LabMessage[]): void {
    this.#known += messages.map(toldIn).join("\n");
  }

  async #secretsOf({ check }: Step & { readonly check: unknown }): Promise<readonly string[]> {
    const file = answerFileOf(check);
    const answer = file === undefined ? "" : await readFile(join(this.folder, file), "utf8").catch(() => "");
    const word = answer.trim();
    const secrets = [...(SECRET.test(word) ? [word] : []), ...specFieldsIn(check)];
    return secrets.filter((secret) => !this.#known.includes(secret));
  }
}

/** The fields of a spec that a check reads: the task is to correct them. */
function specFieldsIn(check: unknown): readonly string[] {
  if (typeof check !== "object" || check === null) return [];
  return Object.entries(check).flatMap(([key, value]) => {
    if (key === "field" && typeof value === "string") return value.startsWith("spec.") ? [value] : [];
    return specFieldsIn(value);
  });
}

function evidenceIn(message: LabMessage): readonly string[] {
  if (message.kind === "look") return [message.line];
  if (message.kind !== "evidence") return [];
  const facts = message.facts.flatMap((fact) => renderEvent(fact, 0, UNBROKEN));
  return [...facts, ...message.shows.flatMap((shows) => shows ?? [])];
}

function toldIn(message: LabMessage): string {
  switch (message.kind) {
    case "text":
      return message.markdown;
    case "output":
      return message.text;
    case "running":
    case "command":
      return message.line;
    case "table":
    case "question":
      return JSON.stringify(message);
    default:
      return "";
  }
}
