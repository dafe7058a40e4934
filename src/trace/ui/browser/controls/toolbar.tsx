import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { say } from "../language.js";
import { KINDS, Sign } from "../marks.js";
import { thingWords } from "../picture/things.js";
import type { PageState, View } from "../state.js";

const VIEWS: readonly (readonly [View, string])[] = [
  ["story", "Story"],
  ["requests", "Requests"],
  ["all", "Everything"],
];

/** What the list shows. A trace without a story has two views. */
export function Views({ state }: { readonly state: PageState }) {
  const view = state.view.value;
  const hasPlot = state.plot.value !== undefined;
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset has a border and a legend
    <div class="group views" role="group" aria-label={say("View")}>
      {VIEWS.filter(([name]) => name !== "story" || hasPlot).map(([name, words]) => (
        <button key={name} type="button" aria-pressed={name === view} onClick={() => state.look(name)}>
          {say(words)}
        </button>
      ))}
    </div>
  );
}

/** Search and filters. */
export function Toolbar({ state }: { readonly state: PageState }) {
  const { search, pod } = state.filter.value;
  const isStory = state.view.value === "story";
  return (
    <div class="toolbar" role="toolbar" aria-label={say("Controls")}>
      {state.isLive && (
        <Toggle
          of={state.isFollowing}
          words="Follow"
          title="Follow what happens"
          toggle={() => state.follow(!state.isFollowing.value)}
        />
      )}
      <input
        id="search"
        type="search"
        placeholder={`${say("Search")}  /`}
        aria-label={say("Search")}
        value={search}
        onInput={(event) => state.change({ search: event.currentTarget.value })}
      />
      {state.revision.value >= 0 && (state.isLive || state.story.pods.length > 0) && (
        <label>
          <span>{say("Pod")}</span>
          <select
            aria-label={say("Pod")}
            value={pod ?? ""}
            onChange={(event) => state.change({ pod: event.currentTarget.value || undefined })}
          >
            <option value="">{say("all")}</option>
            {state.story.pods.map((name) => (
              <option key={name} value={name}>
                {name}
              </option>
            ))}
          </select>
        </label>
      )}
      <Toggle of={state.isChainOnly} words="Only this chain" disabled={state.selected.value === undefined} />
      {!isStory && (
        <Toggle of={state.isFolding} words="Fold repeats" title="Show what a timer repeats once, with a counter" />
      )}
      <Toggle of={state.isPictureShown} words="Picture" title="Show the cluster" />
      <Filters state={state} />
      <Chosen state={state} />
    </div>
  );
}

interface ToggleProps {
  readonly of: Signal<boolean>;
  readonly words: string;
  readonly title?: string;
  readonly disabled?: boolean;
  readonly toggle?: () => void;
}

function Toggle({ of, words, title = words, disabled = false, toggle }: ToggleProps) {
  const change = () => {
    of.value = !of.value;
  };
  return (
    <button type="button" aria-pressed={of.value} title={say(title)} disabled={disabled} onClick={toggle ?? change}>
      {say(words)}
    </button>
  );
}

/** The thing that is selected in the picture, and a button that clears the selection. */
function Chosen({ state }: { readonly state: PageState }) {
  const { thing } = state.filter.value;
  if (thing === undefined) return null;
  return (
    <button type="button" class="chosen" aria-pressed="true" onClick={() => state.choose(thing)}>
      {say("Only {1}", thingWords(thing))} <span aria-hidden="true">✕</span>
    </button>
  );
}

function Filters({ state }: { readonly state: PageState }) {
  const { hiddenLanes, hiddenKinds } = state.filter.value;
  const hidden = hiddenLanes.size + hiddenKinds.size;
  return (
    <details class="filters">
      <summary>
        {say("Filter")}
        {hidden > 0 && ` ${say("({1} hidden)", hidden)}`}
      </summary>
      <div class="choices">
        <fieldset>
          <legend>{say("Actors")}</legend>
          {state.story.lanes.sorted.map(({ key, actor, name, instance }) => (
            <Choice key={key} state={state} of="hiddenLanes" name={key}>
              <i class={`swatch ${actor}`} /> {[say(name), instance].filter(Boolean).join(" ")}
            </Choice>
          ))}
        </fieldset>
        <fieldset>
          <legend>{say("Kinds")}</legend>
          {KINDS.map(([kind, meaning]) => (
            <Choice key={kind} state={state} of="hiddenKinds" name={kind}>
              <Sign kind={kind} /> {say(meaning)}
            </Choice>
          ))}
        </fieldset>
      </div>
    </details>
  );
}

interface ChoiceProps {
  readonly state: PageState;
  readonly of: "hiddenLanes" | "hiddenKinds";
  readonly name: string;
  readonly children: ComponentChildren;
}

function Choice({ state, of, name, children }: ChoiceProps) {
  const isShown = !state.filter.value[of].has(name);
  return (
    <label>
      <input type="checkbox" checked={isShown} onChange={() => state.toggle(of, name)} /> {children}
    </label>
  );
}
