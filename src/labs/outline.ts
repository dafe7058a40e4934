import { isRecord } from "../util/records.js";
import type { LabDefinition } from "./schema.js";

/**
 * What rules look at in a definition, also in one that breaks the schema: whatever can be read of it, so that all mistakes are
 * told at once and none is told that only follows from another.
 */
export interface LabOutline {
  /** the file's content */
  readonly source: unknown;
  /** undefined: it is none of them */
  readonly kind: LabDefinition["kind"] | undefined;
  readonly steps: readonly StepOutline[];
  /** false: there are steps whose id cannot be read, so that whatever is not found may be theirs */
  readonly isWhole: boolean;
  readonly nodes: number;
  readonly vars: readonly string[];
  /** nothing says how what it makes goes away from a cluster that lives on */
  readonly leavesThings: boolean;
}

export interface StepOutline {
  readonly id: string;
  readonly isCheck: boolean;
  /** of a prediction, where they can be read */
  readonly choices?: readonly string[];
  readonly outcomes?: readonly string[];
}

const MOST_NODES = 5;

/** Pure. @returns undefined: there are no steps to be read */
export function outlineOf(source: unknown): LabOutline | undefined {
  if (!isRecord(source) || !Array.isArray(source["steps"])) return undefined;
  const { kind, nodes = 0, vars, cluster, cleanup, makes } = source;
  const steps = source["steps"].flatMap(stepOf);
  return {
    source,
    kind: kind === "chapter" || kind === "incident" ? kind : undefined,
    steps,
    isWhole: steps.length === source["steps"].length,
    nodes: Number.isInteger(nodes) ? Number(nodes) : MOST_NODES,
    vars: isRecord(vars) ? Object.keys(vars) : [],
    leavesThings: cluster === "any" && makes === undefined && !(Array.isArray(cleanup) && cleanup.length > 0),
  };
}

function stepOf(step: unknown): StepOutline[] {
  if (!isRecord(step) || typeof step["id"] !== "string" || !/^[a-z0-9-]+$/.test(step["id"])) return [];
  const { id, predict, outcomes } = step;
  return [
    {
      id,
      isCheck: "check" in step,
      ...(Array.isArray(predict) && predict.every((one) => typeof one === "string") ? { choices: predict } : {}),
      ...(isRecord(outcomes) ? { outcomes: Object.keys(outcomes) } : {}),
    },
  ];
}
