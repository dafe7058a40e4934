import type { Language } from "../../../util/i18n/language.js";
import type { Lab } from "./lab.js";
import type { LabDefinition } from "./schema.js";
import { type StepType, typeOf } from "./steps.js";

/** A lab's entry in lists and menus, which can be read without the rest. */
export interface LabSummary {
  readonly id: string;
  readonly number: string;
  readonly kind: LabDefinition["kind"];
  readonly cluster: LabDefinition["cluster"];
  readonly minutes: number;
  readonly revision: number;
  readonly steps: readonly string[];
  /** of these steps, the questions */
  readonly predictions: readonly string[];
  /** of these steps, those that the learner solves */
  readonly tasks: readonly string[];
  /** absolute path of the learner's own lab; undefined: it comes with kubelab */
  readonly folder?: string;
  /** programs that must be installed */
  readonly needs: LabDefinition["needs"];
  readonly title: Readonly<Record<Language, string>>;
  readonly summary: Readonly<Record<Language, string>>;
}

export interface LabLibrary {
  /** in learning order, incidents last */
  readonly summaries: readonly LabSummary[];
  /** @returns undefined for an unknown lab */
  load(id: string): Promise<Lab | undefined>;
}

export function summaryOf({ definition, text }: Lab): LabSummary {
  const { id, number, kind, cluster, minutes, revision, steps, needs } = definition;
  const idsOf = (type: StepType) => steps.filter((step) => typeOf(step) === type).map((step) => step.id);
  return {
    id,
    number,
    kind,
    cluster,
    minutes,
    revision,
    steps: steps.map((step) => step.id),
    predictions: idsOf("predict"),
    tasks: idsOf("check"),
    needs,
    title: { en: text.en.title, zh: text.zh.title },
    summary: { en: text.en.summary, zh: text.zh.summary },
  };
}

/** The name of a lab in a command: its id, or the folder of the learner's own lab. */
export function wordFor({ id, folder }: LabSummary): string {
  return folder ?? id;
}

/** Finds a lab by its id or number. @returns undefined for an unknown lab */
export function findLab(summaries: readonly LabSummary[], word: string): LabSummary | undefined {
  const wanted = word.toLowerCase();
  return summaries.find(({ id, number }) => id === wanted || number === wanted);
}
