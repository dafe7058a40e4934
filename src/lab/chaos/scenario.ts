import { z } from "zod";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { parseYamlDocuments } from "../../staging/apimachinery/yaml.js";
import { parseCondition } from "../../testbed/time/condition.js";
import { LabError, messageOf } from "../../util/errors.js";
import { sayIn } from "../../util/i18n/catalogue.js";
import { nearest } from "../../util/text/nearest.js";
import { injectionProblems } from "../labs/format/injection-names.js";
import { ARGUMENTS_OF_FAULTS } from "./arguments-schema.js";
import { FAULTS } from "./faults.js";
import { INVARIANT_NAMES } from "./invariants.js";

const duration = z.string("expected a duration such as 30s").transform((text, { addIssue }) => {
  try {
    const ms = parseGoDuration(text);
    if (ms >= 0) return ms;
  } catch {
    // The issue has the text.
  }
  addIssue({ code: "custom", message: `${JSON.stringify(text)} is no duration such as 30s or 5m` });
  return z.NEVER;
});

/** A condition, as a file has it. */
export const CONDITION = z.string("expected a condition").superRefine((text, { addIssue }) => {
  try {
    parseCondition(text);
  } catch (error) {
    addIssue({
      code: "custom",
      message: error instanceof LabError ? `${error.message}. ${error.hint}` : String(error),
    });
  }
});

const argument = z.union([z.string(), z.number(), z.boolean()]);

const fault = z
  .strictObject({
    when: z.union([z.strictObject({ at: duration }), CONDITION]).describe("a moment, or a condition that is met"),
    fault: z.string().meta({ enum: Object.keys(FAULTS) }),
    with: z.record(z.string(), argument).default({}).describe("the fault's arguments"),
    for: duration.optional().describe("then the fault is taken back; without it, it stays"),
  })
  .meta({ allOf: ARGUMENTS_OF_FAULTS })
  .superRefine((entry, { addIssue }) => {
    const known = FAULTS[entry.fault];
    const add = (path: string, message: string) => addIssue({ code: "custom", path: [path], message });
    if (known === undefined) {
      const names = Object.keys(FAULTS);
      const like = nearest(names, entry.fault);
      const hint = like === undefined ? `expected one of ${names.join(", ")}` : `did you mean ${like}?`;
      return add("fault", `there is no fault ${JSON.stringify(entry.fault)}: ${hint}`);
    }
    for (const problem of injectionProblems(entry.fault, entry.with, sayIn("en"))) add("with", problem);
    if (entry.for !== undefined && known.undo === undefined) add("for", `${entry.fault} cannot be taken back`);
  });

const expectation = z.strictObject({
  condition: CONDITION.describe("a pod's or node's state, an Event or a fact, as `kubelab time until` takes it"),
  from: duration.default(0).describe("when the time of `within` begins"),
  within: duration.describe("how long the condition may take"),
  never: z.boolean().default(false).describe("the condition must not be met in that time"),
});

/** What a file may hold. */
export const SCENARIO = z
  .strictObject({
    title: z.string().min(1),
    seed: z.number().int().min(0).optional().describe("of the run, unless --seed names another"),
    nodes: z.number().int().min(1).max(10).default(1).describe("named node-1, node-2, ..."),
    objects: z
      .array(
        z.looseObject({
          apiVersion: z.string(),
          kind: z.string(),
          metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
        }),
      )
      .default([])
      .describe("created at 0 s"),
    do: z.array(fault).default([]),
    expect: z.array(expectation).default([]),
    invariants: z
      .array(z.enum(INVARIANT_NAMES))
      .default([])
      .describe("what must hold in every moment, and within 12 minutes after the last fault"),
  })
  .refine(({ expect, invariants }) => expect.length + invariants.length > 0, {
    path: ["expect"],
    message: "expected an expectation or an invariant",
  });

/** Objects, faults and expectations. Times are ms of the cluster's clock, from the moment when the objects exist. */
export type Scenario = z.infer<typeof SCENARIO>;

/** Whether pods use the addresses of Services, among them that of the name server. Without kube-proxy a cluster starts faster. */
export function hasServices({ objects, do: faults }: Scenario): boolean {
  return objects.some(({ kind }) => kind === "Service") || faults.some(({ fault }) => fault === "dns-fault");
}

/** @param file its name, for messages @throws LabError BAD_FILE with a line for each wrong field */
export function parseScenario(text: string, file: string): Scenario {
  return parseChecked(SCENARIO, text, file, "scenario");
}

/**
 * Reads a file of one YAML document.
 * @param whole names the document in messages about the whole
 * @throws LabError BAD_FILE with a line for each wrong field
 */
export function parseChecked<T>(schema: z.ZodType<T>, text: string, file: string, whole: string): T {
  const bad = (why: string) => new LabError("BAD_FILE", `${file}: ${why}`, "docs/chaos.md has the format.");
  let documents: readonly unknown[];
  try {
    documents = parseYamlDocuments(text);
  } catch (error) {
    throw bad(messageOf(error));
  }
  if (documents.length !== 1) throw bad("expected one YAML document");
  const { data, error } = schema.safeParse(documents[0]);
  if (data !== undefined) return data;
  throw bad((error?.issues ?? []).map((issue) => problemOf(issue, whole)).join("\n"));
}

type Issue = z.core.$ZodIssue;

/** Of a value with several forms, the problem of the form that it has. */
function problemOf(issue: Issue, whole: string, above: readonly PropertyKey[] = []): string {
  const path = [...above, ...issue.path];
  const meant =
    issue.code === "invalid_union"
      ? issue.errors.map(([first]) => first).find((first) => first?.code !== "invalid_type" || first.path.length > 0)
      : undefined;
  return meant === undefined ? `${path.join(".") || whole}: ${issue.message}` : problemOf(meant, whole, path);
}
