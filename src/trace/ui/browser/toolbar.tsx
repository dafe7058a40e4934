import { ALL_LEVELS } from "./filter.js";
import { KINDS, Sign } from "./marks.js";
import { thingWords } from "./picture/things.js";
import type { PageState } from "./state.js";

/** The levels of `-v`, from a learner's to the most detailed. */
const DETAIL = [
  [1, "steps"],
  [2, "requests"],
  [ALL_LEVELS, "everything"],
] as const;

/** Play, search and filters. */
export function Toolbar({ state }: { readonly state: PageState }) {
  const { search, pod, level } = state.filter.value;
  const isPlaying = state.isPlaying.value;
  return (
    <div class="toolbar" role="toolbar" aria-label="Controls">
      <div class="group">
        <button type="button" aria-label="Previous step" title="Previous step (↑)" onClick={() => state.move(-1)}>
          ◂
        </button>
        <button
          type="button"
          class="play"
          aria-label={isPlaying ? "Pause" : "Play"}
          title={isPlaying ? "Pause (Space)" : "Play (Space)"}
          onClick={() => {
            state.isPlaying.value = !isPlaying;
          }}
        >
          {isPlaying ? "❚❚" : "▶"}
        </button>
        <button type="button" aria-label="Next step" title="Next step (↓)" onClick={() => state.move(1)}>
          ▸
        </button>
      </div>
      {state.isLive && (
        <button
          type="button"
          class="follow"
          aria-pressed={state.isFollowing.value}
          title="Follow what happens (f)"
          onClick={() => state.follow(!state.isFollowing.value)}
        >
          Follow
        </button>
      )}
      <input
        id="search"
        type="search"
        placeholder="Search  /"
        aria-label="Search"
        value={search}
        onInput={(event) => state.change({ search: event.currentTarget.value })}
      />
      <label>
        <span>Show</span>
        <select
          aria-label="Detail"
          value={level}
          onChange={(event) => state.change({ level: Number(event.currentTarget.value) })}
        >
          {DETAIL.map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      {state.revision.value >= 0 && state.story.pods.length > 0 && (
        <label>
          <span>Pod</span>
          <select
            aria-label="Pod"
            value={pod ?? ""}
            onChange={(event) => state.change({ pod: event.currentTarget.value || undefined })}
          >
            <option value="">all</option>
            {state.story.pods.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <button
        type="button"
        aria-pressed={state.isChainOnly.value}
        disabled={state.selected.value === undefined}
        onClick={() => {
          state.isChainOnly.value = !state.isChainOnly.value;
        }}
      >
        Only this chain
      </button>
      <button
        type="button"
        aria-pressed={state.isFolding.value}
        title="Show what a timer repeats once, with a counter"
        onClick={() => {
          state.isFolding.value = !state.isFolding.value;
        }}
      >
        Fold repeats
      </button>
      <button
        type="button"
        aria-pressed={state.isPictureShown.value}
        title="Show the cluster (p)"
        onClick={() => {
          state.isPictureShown.value = !state.isPictureShown.value;
        }}
      >
        Picture
      </button>
      <Filters state={state} />
      <Chosen state={state} />
    </div>
  );
}

/** The thing that is selected in the picture, and a button that clears the selection. */
function Chosen({ state }: { readonly state: PageState }) {
  const { thing } = state.filter.value;
  if (thing === undefined) return null;
  return (
    <button type="button" class="chosen" aria-pressed="true" onClick={() => state.choose(thing)}>
      Only {thingWords(thing)} <span aria-hidden="true">✕</span>
    </button>
  );
}

function Filters({ state }: { readonly state: PageState }) {
  const { hiddenLanes, hiddenKinds } = state.filter.value;
  const hidden = hiddenLanes.size + hiddenKinds.size;
  return (
    <details class="filters">
      <summary>Filter{hidden > 0 && ` (${hidden} hidden)`}</summary>
      <div class="choices">
        <fieldset>
          <legend>Actors</legend>
          {state.story.lanes.sorted.map(({ key, actor, name, instance }) => (
            <label key={key}>
              <input
                type="checkbox"
                checked={!hiddenLanes.has(key)}
                onChange={() => state.toggle("hiddenLanes", key)}
              />
              <i class={`swatch ${actor}`} /> {[name, instance].filter(Boolean).join(" ")}
            </label>
          ))}
        </fieldset>
        <fieldset>
          <legend>Kinds</legend>
          {KINDS.map(([kind, meaning]) => (
            <label key={kind}>
              <input
                type="checkbox"
                checked={!hiddenKinds.has(kind)}
                onChange={() => state.toggle("hiddenKinds", kind)}
              />
              <Sign kind={kind} /> {meaning}
            </label>
          ))}
        </fieldset>
      </div>
    </details>
  );
}
