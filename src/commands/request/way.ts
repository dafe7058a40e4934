import type { Change, StoryFact, TraceEvent, Upstream } from "../../trace/events.js";
import { startMs, TraceGraph } from "../../trace/graph/graph.js";
import { sentenceOf } from "../../trace/story/sentences.js";
import { storyStep } from "../../trace/story/step.js";
import { shortIds } from "../../trace/terminal/text.js";
import { translated } from "../../trace/translated.js";
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
  const { upstream: _handler, ...sent } = storyStep(request, undefined, say);
  const stages = facts
    .filter((event) => all.has(event) && (named || event.kind !== "note"))
    .flatMap((event) => stageOf(say === undefined ? event : translated(event, say)) ?? []);
  return [{ ...sent, atMs: beganMs, part: "client" }, ...stages].map(({ atMs, ...stage }, i) => {
    return { number: i + 1, atMs: Math.max(0, atMs - beganMs), ...stage };
  });
}

/** Whether a step names the watches that got an event. */
export function isDispatch({ upstream }: Pick<WayStep, "upstream">): boolean {
  return upstream?.func === "dispatchEvent";
}

function stageOf(event: TraceEvent): Omit<WayStep, "number"> | undefined {
  const fact = event.id;
  if (event.kind === "state") {
    const { upstream, atMs, from, to } = event;
    const text = `${event.subject}: ${event.what} ${from === undefined ? "" : `${from} → `}${to}`;
    return { fact, atMs, part: partOf(upstream), text, ...defined({ upstream }) };
  }
  if (event.kind === "note" && event.upstream !== undefined) {
    const { upstream, atMs, text } = event;
    return { fact, atMs, part: partOf(upstream), text, upstream };
  }
  if (event.kind !== "decision") return undefined;
  const { upstream, atMs, what: text, why, changes } = event;
  return {
    fact,
    atMs,
    part: partOf(upstream),
    text,
    ...defined({ why: why === "" ? undefined : why, changes, upstream }),
  };
}

function partOf(upstream: Upstream | undefined): string {
  return PARTS.find(([pattern]) => pattern.test(upstream?.file ?? ""))?.[1] ?? "server";
}

/** The stages as the trace's story, in the words of other stories. @param factOf the fact of a stage */
export function storyOf(steps: readonly WayStep[], factOf: (id: string) => TraceEvent | undefined): StoryFact {
  const stages = steps.map(({ fact, text, why, upstream }) => {
    const event = factOf(fact);
    const sentence = event === undefined ? undefined : sentenceOf(event);
    return { fact, text: shortIds(sentence ?? text, true), ...defined({ why, upstream }) };
  });
  return { kind: "story", title: steps[0]?.text ?? "", steps: stages };
}
