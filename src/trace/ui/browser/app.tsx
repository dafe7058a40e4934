import { signal } from "@preact/signals";
import { ChapterPanel } from "./chapters/panel.js";
import { Player } from "./controls/player.js";
import { Toolbar, Views } from "./controls/toolbar.js";
import { Details } from "./details/details.js";
import { Legend } from "./details/legend.js";
import { Strip } from "./details/strip.js";
import { hasOwnMeaning } from "./keys.js";
import { language, say } from "./language.js";
import { PlotList } from "./list/plot-list.js";
import { Sequence } from "./list/sequence.js";
import { Future } from "./live/future.js";
import { LabPanel } from "./live/lab/lab-panel.js";
import type { Live } from "./live/live.js";
import { KeyButtons, LiveStatus, StateTables } from "./live/live-bar.js";
import { Picture } from "./picture/picture.js";
import type { PageState } from "./state.js";
import { Timeline } from "./timeline/timeline.js";
import { durationWords, titleOf } from "./words.js";

interface AppProps {
  readonly state: PageState;
  /** of a running command */
  readonly live: Live | undefined;
}

const narrow = matchMedia("(max-width: 56rem)");
/** the page has one column */
const isNarrow = signal(narrow.matches);
narrow.addEventListener("change", () => {
  isNarrow.value = narrow.matches;
});

/** The whole page. On a narrow one, a step's text opens below its row. */
export function App({ state, live }: AppProps) {
  document.documentElement.lang = language.value;
  const isStory = state.view.value === "story";
  const hasStage = !isStory || !isNarrow.value;
  const lab = live?.lab.value;
  // The story is no signal: without this, a lab's first facts would not replace the words of a page without any.
  state.revision.value;
  // The cluster of a lab starts before the learner runs anything.
  const isIdle = lab !== undefined && lab.pictureless !== "" && state.plots.value.length === 0;
  const strip = isIdle ? (
    <p key="strip" class="strip">
      {lab.pictureless}
    </p>
  ) : (
    <Strip key="strip" state={state} />
  );
  const hasChapter = state.isPictureShown.value && state.shownChapter.value !== undefined;
  const chapter = hasChapter && <ChapterPanel key="chapter" state={state} />;
  const side = <Side key="side" state={state} live={live} />;
  const connection = live?.connection.value;
  const isStopped = connection === "ended" || connection === "lost" || connection === "refused";
  return (
    <>
      <Head state={state} live={live} />
      <main
        class={[isStory ? "told" : "facts", lab === undefined ? "" : "with-lab", isStopped ? "stopped" : ""]
          .filter(Boolean)
          .join(" ")}
      >
        {live !== undefined && lab !== undefined && <LabPanel live={live} lab={lab} />}
        <div class="left" hidden={isIdle}>
          {!isStory && <Timeline state={state} />}
          {!isStory && live !== undefined && <Future live={live} />}
          {isStory ? (
            <PlotList state={state} opened={isNarrow.value ? [strip, chapter, side] : undefined} />
          ) : (
            <Sequence state={state} />
          )}
          {hasStage && lab !== undefined && side}
        </div>
        <div class={`stage${state.isPictureShown.value ? "" : " pictureless"}${hasChapter ? " chaptered" : ""}`}>
          {hasStage && strip}
          {state.isPictureShown.value && <Picture state={state} isNarrow={isNarrow.value} />}
          {hasStage && chapter}
          <Player state={state} />
          <div class="below">
            {isStory && <Timeline state={state} />}
            {!hasStage && live !== undefined && <Future live={live} />}
            {hasStage && lab === undefined && side}
          </div>
        </div>
      </main>
      <Footer state={state} />
    </>
  );
}

/** A key of the command's window hides the page's own key of that letter: then that needs Shift. */
function Footer({ state }: { readonly state: PageState }) {
  const letter = (key: string) => <kbd>{hasOwnMeaning(state, key) ? key.toUpperCase() : key}</kbd>;
  return (
    <footer>
      <kbd>↑</kbd> <kbd>↓</kbd> {say("step")} · <kbd>←</kbd> {say("cause")} · <kbd>→</kbd> {say("effect")} ·{" "}
      <kbd>{say("Space")}</kbd> {say("play")} · <kbd>/</kbd> {say("search")} · {letter("c")} {say("only this chain")} ·{" "}
      {letter("p")} {say("picture")} ·{" "}
      {state.isLive && (
        <>
          {letter("f")} {say("follow")} ·{" "}
        </>
      )}
      <kbd>Esc</kbd> {say("back")}
      <Legend />
    </footer>
  );
}

/** The selected step, or else the state of the running command, comes first; on a wide page of a story, its timers come last. */
function Side({ state, live }: AppProps) {
  const parts = [<Details key="details" state={state} />];
  if (live !== undefined) {
    const tables = <StateTables key="tables" live={live} />;
    if (state.selected.value === undefined) parts.unshift(tables);
    else parts.push(tables);
    if (state.view.value === "story" && !isNarrow.value) parts.push(<Future key="future" live={live} />);
  }
  return <div class="side">{parts}</div>;
}

function Head({ state, live }: AppProps) {
  state.revision.value;
  const { story } = state;
  // The command's own note; other notes may come before it.
  const notes = story.steps.filter(({ event }) => event.kind === "note" && event.actor === "user");
  const titles = notes.map(({ event }) => titleOf(event));
  const ofCommand = (
    titles.find((text) => text.startsWith("kubelab ")) ??
    titles[0] ??
    state.plot.value?.title ??
    say("a trace")
  ).replace("kubelab ", "");
  const title = live?.lab.value?.title ?? ofCommand;
  return (
    <header class={live?.lab.value === undefined ? "" : "of-lab"}>
      <div class="words">
        <h1>kubelab</h1>
        <p title={title}>{title}</p>
        <p class="count" role="status">
          {state.isReading.value ? say("reading the file") : countWords(state)}
        </p>
        {live !== undefined && <LiveStatus live={live} />}
      </div>
      <Views state={state} />
      <Toolbar state={state} />
      {live !== undefined && live.lab.value === undefined && <KeyButtons live={live} isFolded={isNarrow.value} />}
    </header>
  );
}

function countWords(state: PageState): string {
  const { startMs, endMs } = state.span.value;
  const duration = durationWords(endMs - startMs);
  const matching = state.matching.value.length;
  const plot = state.view.value === "story" ? state.plot.value : undefined;
  if (plot !== undefined) {
    const { length } = plot.steps;
    return matching === length
      ? say(length === 1 ? "1 step in {2}" : "{1} steps in {2}", length, duration)
      : say("{1} of {2} steps in {3}", matching, length, duration);
  }
  const all = state.story.steps.length;
  const folded = matching - state.rows.value.length;
  const facts = matching === all ? say("{1} facts", all) : say("{1} of {2} facts", matching, all);
  const count = folded === 0 ? facts : `${facts} ${say("({1} folded)", folded)}`;
  return `${count}, ${duration}`;
}
