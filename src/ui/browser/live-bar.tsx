import type { Connection, Live } from "./live.js";

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "connecting",
  live: "live",
  lost: "connecting again",
  ended: "the command has ended",
};

/** Whether facts still come, and how many did not. */
export function LiveStatus({ live }: { readonly live: Live }) {
  const connection = live.connection.value;
  const leftOut = live.leftOut.value;
  return (
    <p class={`live ${connection}`} role="status">
      {WORDS[connection]}
      {leftOut > 0 && `, ${leftOut} earlier facts left out`}
    </p>
  );
}

/** The keys of the command's window. */
export function KeyButtons({ live }: { readonly live: Live }) {
  const keys = live.keys.value;
  if (keys.length === 0) return null;
  return (
    <div class="keys" role="toolbar" aria-label="Keys of the window">
      {keys.map(({ key, short, label, enabled }) => (
        <button key={key} type="button" title={label} disabled={!enabled} onClick={() => void live.press(key)}>
          <kbd>{key}</kbd> {short}
        </button>
      ))}
      {live.refusal.value !== "" && <p role="alert">{live.refusal.value}</p>}
    </div>
  );
}
