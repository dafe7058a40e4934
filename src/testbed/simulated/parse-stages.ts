import { z } from "zod";
import { parseGoDuration } from "../../staging/apimachinery/time.js";
import { parseYamlDocuments } from "../../staging/apimachinery/yaml.js";
import { LabError, messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import { CONDITION_STATUSES, PHASES, RESTART_POLICIES, type Stage } from "./stage.js";

const HINT = "docs/commands.md has the format of stages under cluster.";

/** Messages describe the expected value; the given value precedes them. */
const must = (what: string) => ({ error: `expected ${what}` });
const oneOf = (values: readonly string[]) => must(values.join(", ").replace(/, (?=[^,]*$)/, " or "));

/** An object with no other fields. */
function fields<S extends z.ZodRawShape>(shape: S) {
  return z.strictObject(shape, must(`the fields ${Object.keys(shape).join(", ")}`));
}

/** `Pending`, or `[Pending, Running]`. */
function oneOrMore(values: readonly [string, ...string[]]) {
  const list = z.array(z.enum(values, oneOf(values))).min(1, oneOf(values));
  return z.preprocess((given) => (Array.isArray(given) ? given : [given]), list).optional();
}

const DURATION = must("a duration such as 500ms or 1m30s");
const duration = z.string(DURATION).transform((text, { addIssue }) => {
  try {
    const ms = parseGoDuration(text);
    if (ms >= 0) return ms;
  } catch {
    // The issue has the text.
  }
  addIssue({ code: "custom", message: DURATION.error });
  return z.NEVER;
});

const NAME = must("a name");
const BOOLEAN = must("true or false");

const stage = fields({
  name: z.string(NAME).min(1, NAME),
  match: fields({
    phase: oneOrMore(PHASES),
    restartPolicy: oneOrMore(RESTART_POLICIES),
    labels: z.record(z.string(), z.string(must("text: quote it")), must("labels and their values")).optional(),
    deletion: z.boolean(BOOLEAN).default(false),
  }).prefault({}),
  delay: fields({ duration: duration.prefault("0s"), jitter: duration.prefault("0s") })
    .prefault({})
    .transform(({ duration: durationMs, jitter: jitterMs }) => ({ durationMs, jitterMs })),
  next: fields({
    phase: z.enum(PHASES, oneOf(PHASES)).optional(),
    conditions: z
      .record(
        z.string().min(1),
        z.enum(CONDITION_STATUSES, oneOf(CONDITION_STATUSES.map((status) => JSON.stringify(status)))),
        must("types of conditions and their statuses"),
      )
      .optional(),
    delete: z.boolean(BOOLEAN).optional(),
  }).refine(({ delete: isDeleted, phase, conditions }) => isDeleted !== true || (phase ?? conditions) === undefined, {
    message: "a pod that is deleted has no phase or conditions afterwards",
  }),
});

/**
 * Reads a YAML list of stages.
 * @param file its name, for messages
 * @throws LabError BAD_FILE with the file, and for each wrong field its stage, path, value and the expected value
 */
export function parseStages(text: string, file: string): readonly Stage[] {
  const bad = (why: string) => new LabError("BAD_FILE", `${file}: ${why}`, HINT);
  let documents: readonly unknown[];
  try {
    documents = parseYamlDocuments(text);
  } catch (error) {
    throw bad(messageOf(error));
  }
  const [items, ...more] = documents;
  if (more.length === 0 && (items ?? undefined) === undefined) throw bad("it has no stages");
  if (documents.some(isKwok)) throw bad("this is a Stage of kwok, whose format is not read: a list of stages is");
  if (!Array.isArray(items) || more.length > 0) throw bad("expected one YAML list of stages");
  const names = new Set<string>();
  const problems: string[] = [];
  const stages = items.flatMap((item: unknown, index) => {
    const { data, error } = stage.safeParse(item);
    const name = isRecord(item) && typeof item["name"] === "string" ? item["name"] : undefined;
    const where = `stage ${index + 1}${name === undefined ? "" : ` ${JSON.stringify(name)}`}`;
    problems.push(...(error?.issues ?? []).map((issue) => `${where}: ${problemOf(item, issue)}`));
    if (name !== undefined && names.has(name)) problems.push(`${where}: name: another stage has this name`);
    if (name !== undefined) names.add(name);
    return data ?? [];
  });
  const [only = "", ...others] = problems;
  if (others.length > 0) throw bad(`${problems.length} fields are wrong\n${problems.join("\n")}`);
  if (only !== "") throw bad(only);
  return stages;
}

function isKwok(document: unknown): boolean {
  return isRecord(document) && String(document["apiVersion"]).startsWith("kwok.x-k8s.io/");
}

/** `match.phase cannot be "Done": expected Pending, …` */
function problemOf(item: unknown, issue: z.core.$ZodIssue): string {
  let path = "";
  let value = item;
  for (const key of issue.path) {
    // A single value counts as a list.
    if (typeof key === "number" && !Array.isArray(value)) continue;
    path += typeof key === "number" ? `[${key}]` : `${path === "" ? "" : "."}${String(key)}`;
    value = (value as Record<PropertyKey, unknown> | undefined)?.[key];
  }
  const field = path === "" ? "it" : path;
  if (issue.code === "unrecognized_keys") {
    const unknown = issue.keys.map((key) => JSON.stringify(key)).join(", ");
    return `${field} cannot have ${unknown}: ${issue.message}`;
  }
  if (value === undefined) return `${field} is missing: ${issue.message}`;
  return `${field} cannot be ${JSON.stringify(value)}: ${issue.message}`;
}
