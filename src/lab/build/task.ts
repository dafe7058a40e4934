import { z } from "zod";
import { parseYamlDocuments } from "../../staging/apimachinery/yaml.js";
import { LabError, messageOf } from "../../util/errors.js";

const text = z.string().trim().min(1);
/** Both languages of a sentence of the author. */
const bilingual = z.strictObject({ en: text, zh: text.regex(/\p{Script=Han}/u, "expected Chinese") });
const id = text.regex(/^[a-z][a-z0-9-]*$/, "expected a word such as renew-interval");

/** One call of a case: what it is given, and what must come of it. */
const step = z.strictObject({
  call: text,
  args: z.array(z.unknown()).default([]),
  /** the value that the call must give; without it any value is right */
  want: z.unknown().optional(),
  /** a part of the error's message that the call must throw */
  throws: text.optional(),
  /** the call may wait: its promise gets this name */
  as: text.optional(),
  /** the waiting calls that this one must release, with their values */
  settles: z.record(text, z.unknown()).optional(),
});

const testCase = z
  .strictObject({
    args: z.array(z.unknown()).default([]),
    want: z.unknown().optional(),
    throws: text.optional(),
    /** programmed objects that the learner's code calls: a text argument `$name` stands for one */
    fakes: z.record(id, z.record(text, z.unknown())).optional(),
    /** the calls of the fakes, in order */
    log: z.array(z.array(z.unknown()).min(1)).optional(),
    /** calls of the object that the learner's factory or class makes */
    steps: z.array(step).min(1).optional(),
  })
  .refine(
    (one) => "want" in one || one.throws !== undefined || one.log !== undefined || one.steps !== undefined,
    "a case wants a value, an error, a log or steps",
  );

const check = z.strictObject({ id, says: bilingual, cases: z.array(testCase).min(1) });

const stage = z.strictObject({
  id,
  title: bilingual,
  /** what the learner's file must export */
  exports: text,
  checks: z.array(check).min(1),
  hints: z.array(bilingual).min(1),
});

const LIVE_PARTS = [
  ...(["renewInterval", "leaseLoop", "generateEvents", "getPhase", "backOff", "podCache", "eviction"] as const),
  ...(["podConfig", "mirrorPod", "token", "csr", "exec", "keepLease"] as const),
] as const;

const TASK = z.strictObject({
  number: z.number().int().min(1),
  title: bilingual,
  about: bilingual,
  minutes: z.number().int().min(1),
  /** kubelab's own module, and what to show of it: a file or a function, as `kubelab source` takes it */
  own: z.array(text).min(1),
  upstream: z.array(z.strictObject({ file: text, func: text })).min(1),
  /** the functions and methods that may give a promise; others must give the value itself */
  async: z.array(text).default([]),
  /** the labs of the same chapter */
  labs: z.array(id).min(1),
  /** the part of kubelab's node that the learner's file replaces in the live run; default: it has none */
  live: z.enum(LIVE_PARTS).exactOptional(),
  /** values that several cases share */
  shared: z.unknown().optional(),
  stages: z.array(stage).min(1),
});

export type Step = z.infer<typeof step>;
export type TestCase = z.infer<typeof testCase>;
export type Stage = z.infer<typeof stage>;
export type LivePart = NonNullable<z.infer<typeof TASK>["live"]>;

const GOLDEN = z.strictObject({ stage: id, release: text, cases: z.array(testCase).min(1) });

/** What upstream's own code was recorded to do, and the stage whose export it is for. */
export type GoldenCases = z.infer<typeof GOLDEN>;

/** @param text of a `golden.json` @throws the schema's error */
export function parseGolden(text: string): GoldenCases {
  return GOLDEN.parse(JSON.parse(text));
}

/** A part of the kubelet that the learner writes, in stages. */
export interface Task extends z.infer<typeof TASK> {
  readonly id: string;
}

/** @param file its name, for messages @throws LabError BAD_FILE with a line for each wrong field */
export function parseTask(id: string, yaml: string, file: string): Task {
  const bad = (why: string) => new LabError("BAD_FILE", `${file}: ${why}`, "docs/build.md has the format.");
  let documents: readonly unknown[];
  try {
    documents = parseYamlDocuments(yaml);
  } catch (error) {
    throw bad(messageOf(error));
  }
  const { data, error } = TASK.safeParse(documents[0]);
  if (data !== undefined) return { id, ...data };
  throw bad((error?.issues ?? []).map((one) => `${one.path.join(".") || "task"}: ${one.message}`).join("\n"));
}
