import { chalkFor, hasUnicode } from "../../cli/colour.js";
import type { CliContext, CliStreams } from "../../cli/context.js";
import { languageOf, type Say, sayIn } from "../../labs/catalogue.js";
import { findLab, type LabLibrary, type LabSummary } from "../../labs/library.js";
import { SpokenError } from "../../labs/said-error.js";
import { LANGUAGES, type Language } from "../../labs/text.js";
import { SystemClock } from "../../util/clock.js";
import { nearest } from "../../util/nearest.js";
import { openLibrary } from "./library.js";
import { ProgressStore } from "./progress-store.js";
import { LabRenderer } from "./render.js";

export interface LearnOptions {
  readonly lang?: Language;
  /** commander's form of --no-color */
  readonly color: boolean;
}

/** What every part of `kubelab learn` needs. */
export interface LearnEnvironment {
  readonly context: CliContext;
  readonly library: LabLibrary;
  readonly store: ProgressStore;
  readonly language: Language;
  readonly say: Say;
  readonly wall: SystemClock;
  /** what a lab tells goes to this stream */
  renderer(stream: "stdout" | "stderr"): LabRenderer;
  isColoured(stream: "stdout" | "stderr"): boolean;
  /** the same, saying everything in another language */
  inLanguage(language: Language): LearnEnvironment;
}

const PLAIN_WIDTH = 80;

export async function openLearn(context: CliContext, options: LearnOptions): Promise<LearnEnvironment> {
  const wall = new SystemClock();
  const shared = { context, library: await openLibrary(), store: new ProgressStore(context.env, wall), wall };
  return environmentIn(options.lang ?? languageOf(context.env), shared, options);
}

function environmentIn(
  language: Language,
  shared: Pick<LearnEnvironment, "context" | "library" | "store" | "wall">,
  options: LearnOptions,
): LearnEnvironment {
  const { context } = shared;
  const say = sayIn(language);
  const chalk = (stream: keyof CliStreams & ("stdout" | "stderr")) =>
    chalkFor(stream, { env: context.env, isTTY: context.streams[stream].isTTY, wanted: options.color });
  return {
    ...shared,
    language,
    say,
    inLanguage: (other) => environmentIn(other, shared, options),
    isColoured: (stream) => chalk(stream).level > 0,
    renderer: (stream) => {
      const out = context.streams[stream];
      const width = () => out.columns ?? PLAIN_WIDTH;
      return new LabRenderer({ chalk: chalk(stream), width, say, unicode: hasUnicode(context.env) }, out);
    },
  };
}

/** @throws LabError USAGE with the nearest name */
export function labNamed({ library, say }: LearnEnvironment, word: string): LabSummary {
  const found = findLab(library.summaries, word);
  if (found !== undefined) return found;
  const like = nearest(
    library.summaries.map(({ id }) => id),
    word,
  );
  const message = like === undefined ? say("noLab", { id: word }) : say("noLabNearest", { id: word, nearest: like });
  throw new SpokenError("USAGE", message, say("noLabHint"));
}

export function parseLanguage(text: string): Language | undefined {
  return LANGUAGES.find((one) => one === text);
}
