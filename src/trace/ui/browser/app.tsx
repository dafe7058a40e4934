import { Details } from "./details/details.js";
import type { Live } from "./live/live.js";
import { KeyButtons, LiveStatus, StateTables } from "./live/live-bar.js";
import { Picture } from "./picture/picture.js";
import { Sequence } from "./sequence.js";
import type { PageState } from "./state.js";
import { Timeline } from "./timeline/timeline.js";
import { Toolbar } from "./toolbar.js";
import { durationWords, titleOf } from "./words.js";

interface AppProps {
  readonly state: PageState;
  /** of a running command */
  readonly live: Live | undefined;
}

/** The whole page. */
export function App({ state, live }: AppProps) {
  return (
    <>
      <Head state={state} live={live} />
      <main>
        {state.isPictureShown.value && <Picture state={state} />}
        <Timeline state={state} />
        <Sequence state={state} />
        <Side state={state} live={live} />
      </main>
      <footer>
        <kbd>↑</kbd> <kbd>↓</kbd> step · <kbd>←</kbd> cause · <kbd>→</kbd> effect · <kbd>Space</kbd> play · <kbd>/</kbd>{" "}
        search · <kbd>c</kbd> only this chain · <kbd>p</kbd> picture ·{" "}
        {state.isLive && (
          <>
            <kbd>f</kbd> follow ·{" "}
          </>
        )}
        <kbd>Esc</kbd> back
      </footer>
    </>
  );
}

/** The selected step, or else the state of the running command, comes first. */
function Side({ state, live }: AppProps) {
  const parts = [<Details key="details" state={state} />];
  if (live !== undefined) {
    const tables = <StateTables key="tables" live={live} />;
    if (state.selected.value === undefined) parts.unshift(tables);
    else parts.push(tables);
  }
  return <div class="side">{parts}</div>;
}

function Head({ state, live }: AppProps) {
  state.revision.value;
  const { story } = state;
  // The command's own note; notes of a kubelet may come before it.
  const note = story.steps.find(({ event }) => event.kind === "note" && event.actor === "user");
  const all = story.steps.length;
  const matching = state.matching.value.length;
  const folded = matching - state.rows.value.length;
  const facts = matching === all ? `${all} facts` : `${matching} of ${all} facts`;
  const count = folded === 0 ? facts : `${facts} (${folded} folded)`;
  return (
    <header>
      <div class="words">
        <h1>kubelab</h1>
        <p title={note && titleOf(note.event)}>
          {note === undefined ? "a trace" : titleOf(note.event).replace(/^kubelab /, "")}
        </p>
        <p class="count" role="status">
          {state.isReading.value ? "reading the file" : `${count}, ${durationWords(story.endMs - story.startMs)}`}
        </p>
        {live !== undefined && <LiveStatus live={live} />}
      </div>
      <Toolbar state={state} />
      {live !== undefined && <KeyButtons live={live} />}
    </header>
  );
}
