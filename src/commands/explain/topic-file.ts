import { z } from "zod";
import { FACTS } from "../../util/release/fact-table.js";
import type { FactName } from "../../util/release/facts.js";
import { nearest } from "../../util/text/nearest.js";

const MOST_SENTENCES = 4;
const UPSTREAM = /^(pkg|cmd|plugin|staging\/src\/k8s\.io)\/[\w/.-]+\.(go|proto)$/;

const text = z.string().trim().min(1);
const bilingual = { en: text, zh: text.regex(/\p{Script=Han}/u, "expected Chinese") };

/**
 * The format of a file of `topics/`: a heading of `kubelab explain`, and the topics below it by name.
 * @param labs the ids of all labs; default: not checked
 */
export function topicFile(labs?: readonly string[]) {
  return z.strictObject({
    title: z.strictObject(bilingual),
    topics: z.record(text, topic(labs)).superRefine(refuseNumbers),
  });
}

/** A file of topics. */
export type TopicFile = z.infer<ReturnType<typeof topicFile>>;

const topic = (labs: readonly string[] | undefined) =>
  z.strictObject({
    also: z.array(text).min(1).exactOptional(),
    en: bilingual.en
      .endsWith(".", "expected sentences that end with a full stop")
      .refine(hasFewSentences, `expected ${MOST_SENTENCES} sentences at most`),
    zh: bilingual.zh.endsWith("。", "expected sentences that end with 。"),
    facts: z
      .array(oneOf<FactName>(Object.keys(FACTS), "fact"))
      .min(1)
      .exactOptional(),
    see: z
      .array(text.regex(/^kube(lab|ctl) /, "expected a command of kubelab or kubectl"))
      .min(1)
      .exactOptional(),
    upstream: text.regex(UPSTREAM, "expected a file of Kubernetes, such as pkg/kubelet/kubelet.go"),
    labs: z
      .array(labs === undefined ? text : oneOf<string>(labs, "lab"))
      .min(1)
      .exactOptional(),
  });

/** JavaScript lists keys that are numbers before all others, so such a topic would not stay where its author put it. */
function refuseNumbers(topics: Readonly<Record<string, unknown>>, context: z.RefinementCtx): void {
  for (const name of Object.keys(topics).filter((name) => /^\d+$/.test(name))) {
    const message = "a name is not a number alone: name it in words, and put the number into `also`";
    context.addIssue({ code: "custom", path: [name], message });
  }
}

function hasFewSentences(text: string): boolean {
  return text.split(/[.?] (?=[A-Z`])/).length <= MOST_SENTENCES;
}

function oneOf<Name extends string>(names: readonly string[], what: string) {
  const isKnown = (name: unknown) => typeof name === "string" && names.includes(name);
  return z.custom<Name>(isKnown, { error: ({ input }) => unknownName(what, names, String(input)) });
}

/** The problem with a name, and the probable name. Pure. */
export function unknownName(what: string, names: readonly string[], name: string): string {
  const like = nearest(names, name);
  return `there is no ${what} ${name}${like === undefined ? "" : `: did you mean ${like}?`}`;
}
