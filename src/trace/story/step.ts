import { defined } from "../../util/defined.js";
import type { Say } from "../../util/i18n/sentences.js";
import type { StoryStep, TraceEvent } from "../events.js";
import { plainText } from "../terminal/options.js";
import { factText } from "../terminal/render-event.js";
import { shortIds } from "../terminal/text.js";
import { topicOf, upstreamOf, whyOf } from "./reasons.js";
import { sentenceOf } from "./sentences.js";

const PLAIN = plainText({ width: () => 1_000, verbosity: 1, startMs: 0 });

/**
 * A fact as a step of a story.
 * @param effect the first fact that it caused: see `isEffect`
 * @param say the reader's language; default: English
 */
export function storyStep(event: TraceEvent, effect: TraceEvent | undefined, say?: Say): StoryStep {
  const sentence = sentenceOf(event, effect);
  const isDecided = event.kind === "step" && effect?.kind === "decision";
  const why = whyOf(event) ?? (isDecided ? effect.what : effect?.kind === "note" ? effect.text : undefined);
  const said = (text: string) => shortIds(say === undefined ? text : say(text), true);
  return {
    fact: event.id,
    text: sentence === undefined ? shortIds(ownText(event, say), true) : said(sentence),
    ...defined({
      why: why === undefined ? undefined : said(why),
      topic: topicOf(event),
      upstream: upstreamOf(event),
    }),
  };
}

/** The fact in its own words, as a terminal shows it. */
export function ownText(event: TraceEvent, say?: Say): string {
  return factText(event, { ...PLAIN, ...defined({ say }) }).text;
}
