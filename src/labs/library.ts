import type { Lab } from "./lab.js";
import type { LabDefinition } from "./schema.js";
import type { Language } from "./text.js";

/** What lists and menus show of a lab, without reading all of it. */
export interface LabSummary {
  readonly id: string;
  readonly number: string;
  readonly kind: LabDefinition["kind"];
  readonly cluster: LabDefinition["cluster"];
  readonly minutes: number;
  readonly revision: number;
  readonly steps: readonly string[];
  readonly title: Readonly<Record<Language, string>>;
  readonly summary: Readonly<Record<Language, string>>;
}

export interface LabLibrary {
  /** in the order in which they are learned, incidents last */
  readonly summaries: readonly LabSummary[];
  /** @returns undefined: there is no such lab */
  load(id: string): Promise<Lab | undefined>;
}

export function summaryOf({ definition, text }: Lab): LabSummary {
  const { id, number, kind, cluster, minutes, revision, steps } = definition;
  return {
    id,
    number,
    kind,
    cluster,
    minutes,
    revision,
    steps: steps.map((step) => step.id),
    title: { en: text.en.title, zh: text.zh.title },
    summary: { en: text.en.summary, zh: text.zh.summary },
  };
}

/** Which lab a word means: its id, its number. @returns undefined: none */
export function findLab(summaries: readonly LabSummary[], word: string): LabSummary | undefined {
  const wanted = word.toLowerCase();
  return summaries.find(({ id, number }) => id === wanted || number === wanted);
}

/** The name most like a word that is none; undefined when none is like it. */
export function nearest(names: readonly string[], word: string): string | undefined {
  const ranked = names
    .map((name) => ({ name, distance: editDistance(name, word.toLowerCase()) }))
    .sort((a, b) => a.distance - b.distance);
  const [best] = ranked;
  if (best !== undefined && best.distance <= Math.max(2, Math.floor(word.length / 2))) return best.name;
  return names.find((name) => word.length >= 3 && name.includes(word.toLowerCase()));
}

/** Levenshtein's. */
function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
