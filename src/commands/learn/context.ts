import type { LabContext } from "../../lab/labs/environment/context.js";
import { findLab, type LabLibrary, type LabSummary } from "../../lab/labs/format/library.js";
import { openLibrary } from "../../lab/labs/format/open-library.js";
import { ProgressStore } from "../../lab/labs/progress/progress-store.js";
import type { ProcessStreams } from "../../testbed/context.js";
import type { TraceEvent } from "../../trace/events.js";
import { SystemClock } from "../../util/clock.js";
import { type Say, sayIn } from "../../util/i18n/catalogue.js";
import { LANGUAGES, type Language, languageOf } from "../../util/i18n/language.js";
import { LocalizedError } from "../../util/i18n/message-error.js";
import { sentencesIn } from "../../util/i18n/sentences.js";
import { nearest } from "../../util/text/nearest.js";
import { wrap } from "../../util/text/text-width.js";
import { chalkFor, hasUnicode } from "../cli/colour.js";
import type { CliContext, EdgeWords } from "../cli/context.js";
import { columnsOf } from "../cli/width.js";
import { LabRenderer } from "./play/render.js";

export interface LearnOptions {
  readonly lang?: Language;
  /** commander's form of --no-color */
  readonly color: boolean;
}

/** What every part of `kubelab learn` needs. */
export interface LearnContext extends LabContext {
  readonly context: CliContext;
  /** the stream of a lab's messages */
  renderer(stream: "stdout" | "stderr", hasKeys?: boolean): LabRenderer;
  /** the same with other labs */
  withLibrary(library: LabLibrary): LearnContext;
  /** the same in the language that a lab was started in, unless `--lang` chose one for this command */
  inLanguageOfLab(language: Language): LearnContext;
}

/** The process edge's texts in a language. */
export function edgeWords(say: Say): EdgeWords {
  return { error: say("edgeError"), interrupted: say("edgeInterrupted"), livePage: say("edgeLivePage") };
}

const PLAIN_WIDTH = 80;
const MAX_LAB_COLUMNS = 100;

export async function openLearn(context: CliContext, options: LearnOptions): Promise<LearnContext> {
  const wall = new SystemClock();
  const store = new ProgressStore(context.env, wall);
  const shared = { context, library: await openLibrary(), store, wall };
  return environmentIn(options.lang ?? languageOf(context.env), shared, options);
}

function environmentIn(
  language: Language,
  shared: Pick<LearnContext, "context" | "library" | "store" | "wall">,
  options: LearnOptions,
): LearnContext {
  const { context } = shared;
  const say = sayIn(language);
  const chalk = (stream: keyof ProcessStreams & ("stdout" | "stderr")) =>
    chalkFor(stream, { env: context.env, isTTY: context.streams[stream].isTTY, wanted: options.color });
  return {
    ...shared,
    language,
    say,
    writePage: (path, facts) => writePage(path, facts, language),
    withLibrary: (library) => environmentIn(language, { ...shared, library }, options),
    inLanguageOfLab: (other) => environmentIn(options.lang ?? other, shared, options),
    get columns() {
      return Math.min(context.streams.stderr.columns ?? PLAIN_WIDTH, MAX_LAB_COLUMNS);
    },
    notice: (line) => {
      const { stderr } = context.streams;
      // A pipe gets the whole sentence, because scripts search for it.
      context.notice(stderr.isTTY === true ? wrap(line, columnsOf(stderr)).join("\n") : line);
    },
    print: (stream, text) => {
      const out = context.streams[stream];
      out.write(`${wrap(text, out.columns ?? PLAIN_WIDTH).join("\n")}\n`);
    },
    unicode: hasUnicode(context.env),
    isColoured: (stream) => chalk(stream).level > 0,
    renderer: (stream, hasKeys = false) => {
      const out = context.streams[stream];
      const width = () => out.columns ?? PLAIN_WIDTH;
      return new LabRenderer({ chalk: chalk(stream), width, say, unicode: hasUnicode(context.env), hasKeys }, out);
    },
  };
}

/** Loaded when a learner requests a page. */
async function writePage(path: string, facts: readonly TraceEvent[], language: Language): Promise<void> {
  const [{ formatOf }, { TraceGraph }, sentences] = await Promise.all([
    import("../cli/trace-file.js"),
    import("../../trace/graph/graph.js"),
    sentencesIn(language),
  ]);
  await formatOf(path).write(path, TraceGraph.of(facts), sentences?.say);
}

/** @throws LabError USAGE with the nearest name */
export function labNamed({ library, say }: LearnContext, word: string): LabSummary {
  const found = findLab(library.summaries, word);
  if (found !== undefined) return found;
  const like = nearest(
    library.summaries.map(({ id }) => id),
    word,
  );
  const message = like === undefined ? say("noLab", { id: word }) : say("noLabNearest", { id: word, nearest: like });
  throw new LocalizedError("USAGE", message, say("noLabHint"));
}

export function parseLanguage(text: string): Language | undefined {
  return LANGUAGES.find((one) => one === text);
}
