import type { Change, StoryFact, TraceEvent, Upstream } from "../../trace/events.js";
import { startMs, TraceGraph } from "../../trace/graph/graph.js";
import { sentenceOf } from "../../trace/story/sentences.js";
import { ownText, storyStep } from "../../trace/story/step.js";
import { shortIds } from "../../trace/terminal/text.js";
import { asItIs } from "../../trace/translated.js";
import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";

/** One stage of a request in the API server. */
export interface WayStep {
  /** the id of its fact */
  readonly fact: string;
  readonly number: number;
  /** since the client sent the request */
  readonly atMs: number;
  readonly part: string;
  readonly text: string;
  readonly why?: string;
  /** for `kubelab explain` */
  readonly topic?: string;
  readonly changes?: readonly Change[];
  readonly upstream?: Upstream;
}

/** The part of the API server that a file of upstream belongs to. */
const PARTS: readonly (readonly [RegExp, string])[] = [
  [/\/(?:endpoints|server)\/filters\//, "filter"],
  [/\/pkg\/admission\//, "admission"],
  [/\/negotiation\/|\/serializer\//, "codec"],
  [/\/responsewriters\//, "response"],
  [/\/endpoints\/handlers\/|\/server\/(?:healthz|mux|routes)\/|\/pkg\/routes\/|\/endpoints\/installer/, "handler"],
  [/\/registry\/rest\//, "strategy"],
  [/\/storage\/cacher\//, "watches"],
  [/\/core\/pod\/storage\//, "strategy"],
  [/\/storage\/|\/registry\/generic\//, "storage"],
];

/**
 * A request, the API server's facts about it and about the watch event of the stored version, in order. An unanswered
 * request has the stages that it reached.
 * @param say the language of the texts; default: English
 * @param named with what only names a function on the way
 */
export function wayOf(facts: readonly TraceEvent[], request: TraceEvent, say?: Say, named = false): readonly WayStep[] {
  const graph = TraceGraph.of(facts);
  const direct = graph.effectsOf(request).filter(({ actor }) => actor === "apiserver");
  const stored = direct.filter((event) => event.kind === "state");
  const all = new Set([
    ...direct,
    ...stored.flatMap((event) => graph.effectsOf(event).filter((one) => one.kind === "decision" && isDispatch(one))),
  ]);
  const beganMs = startMs(request);
  const { upstream: _handler, ...sent } = storyStep(request, stored[0], say);
  const stages = facts
    .filter((event) => all.has(event) && (named || event.kind !== "note"))
    .flatMap((event) => stageOf(event, say) ?? []);
  return [{ ...sent, atMs: beganMs, part: "client" }, ...stages].map(({ atMs, ...stage }, i) => {
    return { number: i + 1, atMs: Math.max(0, atMs - beganMs), ...stage };
  });
}

/** Whether a step names the watches that got an event. */
export function isDispatch({ upstream }: Pick<WayStep, "upstream">): boolean {
  return upstream?.func === "dispatchEvent";
}

function stageOf(event: TraceEvent, say: Say = asItIs): Omit<WayStep, "number"> | undefined {
  if (event.kind !== "state" && event.kind !== "note" && event.kind !== "decision") return undefined;
  const { id: fact, upstream, atMs } = event;
  if (event.kind === "note" && upstream === undefined) return undefined;
  const sentence = sentenceOf(event);
  const stage = {
    fact,
    atMs,
    part: partOf(upstream),
    text: sentence === undefined ? ownText(event, say) : say(sentence),
  };
  const { why, topic } = storyStep(event, undefined, say);
  const changes = event.kind === "decision" ? event.changes : undefined;
  return { ...stage, ...defined({ why, topic, changes, upstream }) };
}

function partOf(upstream: Upstream | undefined): string {
  return PARTS.find(([pattern]) => pattern.test(upstream?.file ?? ""))?.[1] ?? "server";
}

/** The stages as the trace's story. */
export function storyOf(steps: readonly WayStep[]): StoryFact {
  const stages = steps.map(({ fact, text, why, topic, upstream }) => {
    return { fact, text: shortIds(text, true), ...defined({ why, topic, upstream }) };
  });
  return { kind: "story", title: `a client ${steps[0]?.text ?? ""}`, steps: stages };
}
