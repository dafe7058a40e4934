import { z } from "zod";
import { parseGoDuration } from "../../apimachinery/time.js";
import { parseYamlDocuments } from "../../apimachinery/yaml.js";
import { LabError, messageOf } from "../../util/errors.js";
import { isRecord } from "../../util/records.js";
import { CONDITION_STATUSES, PHASES, RESTART_POLICIES, type Stage } from "./stage.js";

const HINT = "docs/commands.md has the format of stages under cluster.";

/** `Pending`, or `[Pending, Running]`. */
function oneOrMore(values: readonly [string, ...string[]]) {
  return z.preprocess((given) => (Array.isArray(given) ? given : [given]), z.array(z.enum(values)).min(1)).optional();
}

const duration = z.string().transform((text, { addIssue }) => {
  try {
    const ms = parseGoDuration(text);
    if (ms >= 0) return ms;
    addIssue({ code: "custom", message: `${JSON.stringify(text)} is negative` });
  } catch (error) {
    addIssue({ code: "custom", message: messageOf(error) });
  }
  return z.NEVER;
});

const stage = z.strictObject({
  name: z.string().min(1),
  match: z
    .strictObject({
      phase: oneOrMore(PHASES),
      restartPolicy: oneOrMore(RESTART_POLICIES),
      labels: z.record(z.string(), z.string()).optional(),
      deletion: z.boolean().default(false),
    })
    .prefault({}),
  delay: z
    .strictObject({ duration: duration.prefault("0s"), jitter: duration.prefault("0s") })
    .prefault({})
    .transform(({ duration: durationMs, jitter: jitterMs }) => ({ durationMs, jitterMs })),
  next: z
    .strictObject({
      phase: z.enum(PHASES).optional(),
      conditions: z.record(z.string().min(1), z.enum(CONDITION_STATUSES)).optional(),
      delete: z.boolean().optional(),
    })
    .refine(({ delete: isDeleted, phase, conditions }) => isDeleted !== true || (phase ?? conditions) === undefined, {
      message: "a pod that is deleted has no phase or conditions afterwards",
    }),
});

/**
 * Reads a YAML list of stages.
 * @param file its name, for messages
 * @throws LabError BAD_FILE that names the file, the stage and the field
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
  if (!Array.isArray(items) || more.length > 0) throw bad("expected one YAML list of stages");
  const names = new Set<string>();
  return items.map((item: unknown, index) => {
    const { data, error } = stage.safeParse(item);
    const title = isRecord(item) && typeof item["name"] === "string" ? ` ${JSON.stringify(item["name"])}` : "";
    const where = `stage ${index + 1}${title}`;
    if (data === undefined) {
      const [{ path = [], message = "" } = {}] = error?.issues ?? [];
      throw bad([where, path.join("."), message].filter((part) => part !== "").join(": "));
    }
    if (names.has(data.name)) throw bad(`${where}: name: another stage has this name`);
    names.add(data.name);
    return data;
  });
}
