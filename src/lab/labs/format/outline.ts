import { isRecord } from "../../../util/records.js";
import { answerFileOf } from "./mistakes.js";
import type { LabDefinition } from "./schema.js";

/**
 * The parts of a definition that rules check, also for a definition that breaks the schema: rules then report all
 * independent mistakes at once.
 */
export interface LabOutline {
  /** the file's content */
  readonly source: unknown;
  /** undefined: unknown kind */
  readonly kind: LabDefinition["kind"] | undefined;
  readonly steps: readonly StepOutline[];
  /** false: some ids cannot be read, so an unknown reference may be to one of these steps */
  readonly isWhole: boolean;
  readonly nodes: number;
  readonly vars: readonly string[];
  /** whether the lab creates objects without a rule for removing them */
  readonly leavesThings: boolean;
  /** whether the API server is a pod of a missing node, or the cluster is not the lab's own */
  readonly lacksApiServerNode: boolean;
}

export interface StepOutline {
  readonly id: string;
  readonly isCheck: boolean;
  /** choices of a prediction, if readable */
  readonly choices?: readonly string[];
  readonly outcomes?: readonly string[];
  /** mistakes that a check knows */
  readonly mistakes?: readonly string[];
  /** the check looks for an answer in a file */
  readonly hasAnswer: boolean;
}

const MOST_NODES = 5;

/** Pure. @returns undefined if there are no readable steps */
export function outlineOf(source: unknown): LabOutline | undefined {
  if (!isRecord(source) || !Array.isArray(source["steps"])) return undefined;
  const { kind, nodes = 0, vars, cluster, cleanup, makes, apiServerPod } = source;
  const steps = source["steps"].flatMap(stepOf);
  return {
    source,
    kind: kind === "chapter" || kind === "incident" ? kind : undefined,
    steps,
    isWhole: steps.length === source["steps"].length,
    nodes: Number.isInteger(nodes) ? Number(nodes) : MOST_NODES,
    vars: isRecord(vars) ? Object.keys(vars) : [],
    leavesThings: cluster === "any" && makes === undefined && !(Array.isArray(cleanup) && cleanup.length > 0),
    lacksApiServerNode: apiServerPod === true && (nodes === 0 || cluster === "any"),
  };
}

function stepOf(step: unknown): StepOutline[] {
  if (!isRecord(step) || typeof step["id"] !== "string" || !/^[a-z0-9-]+$/.test(step["id"])) return [];
  const { id, predict, outcomes, mistakes } = step;
  return [
    {
      id,
      isCheck: "check" in step,
      hasAnswer: answerFileOf(step["check"]) !== undefined,
      ...(Array.isArray(predict) && predict.every((one) => typeof one === "string") ? { choices: predict } : {}),
      ...(isRecord(outcomes) ? { outcomes: Object.keys(outcomes) } : {}),
      ...(isRecord(mistakes) ? { mistakes: Object.keys(mistakes) } : {}),
    },
  ];
}
