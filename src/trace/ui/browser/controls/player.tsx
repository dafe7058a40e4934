import { useSignal } from "@preact/signals";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import { secondsOf } from "../words.js";
import { chainSvg } from "./chain-svg.js";

const SPEEDS = [0.5, 1, 2, 4];

/** Moves through the steps, and shares what is shown. */
export function Player({ state }: { readonly state: PageState }) {
  const isPlaying = state.isPlaying.value;
  const rows = state.rows.value;
  // A page that follows shows its last step.
  const at = state.isFollowing.value ? rows.length - 1 : state.place.value;
  const shown = state.isFollowing.value ? rows.at(-1) : state.selected.value;
  const ms = (shown?.startMs ?? state.span.value.startMs) - state.span.value.startMs;
  return (
    <div class="player" role="toolbar" aria-label={say("Player")}>
      <div class="group">
        <Move state={state} by={-1} sign="◂" label={say("Previous step")} />
        <button
          type="button"
          class="play"
          aria-label={isPlaying ? say("Pause") : say("Play")}
          title={`${isPlaying ? say("Pause") : say("Play")} (${say("Space")})`}
          onClick={() => {
            state.isPlaying.value = !isPlaying;
          }}
        >
          {isPlaying ? "❚❚" : "▶"}
        </button>
        <Move state={state} by={1} sign="▸" label={say("Next step")} />
      </div>
      <select
        aria-label={say("Speed")}
        value={state.speed.value}
        onChange={(event) => {
          state.speed.value = Number(event.currentTarget.value);
        }}
      >
        {SPEEDS.map((speed) => (
          <option key={speed} value={speed}>
            {speed}×
          </option>
        ))}
      </select>
      <input
        type="range"
        aria-label={say("Step")}
        min={0}
        max={Math.max(0, rows.length - 1)}
        value={Math.max(0, at)}
        aria-valuetext={say("step {1} of {2}", Math.max(0, at) + 1, rows.length)}
        onInput={(event) => state.select(rows[Number(event.currentTarget.value)])}
      />
      <span class="dim">{secondsOf(ms)} s</span>
      <Share state={state} />
    </div>
  );
}

interface MoveProps {
  readonly state: PageState;
  readonly by: number;
  readonly sign: string;
  readonly label: string;
}

function Move({ state, by, sign, label }: MoveProps) {
  return (
    <button type="button" aria-label={label} title={`${label} (${by < 0 ? "↑" : "↓"})`} onClick={() => state.move(by)}>
      {sign}
    </button>
  );
}

function Share({ state }: { readonly state: PageState }) {
  const copied = useSignal("");
  const isNone = state.selected.value === undefined;
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(location.href);
      copied.value = say("copied");
    } catch {
      // A page without the right to the clipboard has the same address.
      copied.value = say("copy the address of this page");
    }
  };
  return (
    <>
      <button type="button" disabled={isNone} onClick={() => void copy()}>
        {copied.value || say("copy link to this step")}
      </button>
      <button type="button" disabled={isNone} onClick={() => save(state)}>
        {say("save this chain as SVG")}
      </button>
    </>
  );
}

function save(state: PageState): void {
  const link = document.createElement("a");
  const href = `data:image/svg+xml,${encodeURIComponent(chainSvg(state))}`;
  Object.assign(link, { href, download: "kubelab-chain.svg" });
  link.click();
}
