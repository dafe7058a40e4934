import { printable } from "../../../terminal/text.js";
import { Table } from "../details/table.js";
import { say } from "../language.js";
import type { Connection, Live } from "./live.js";

const WORDS: Readonly<Record<Connection, string>> = {
  connecting: "connecting",
  live: "live",
  lost: "lost, trying again",
  refused: "lost: open the address that the command prints",
  ended: "ended",
};

/** Whether facts still arrive, and how many were missed. */
export function LiveStatus({ live }: { readonly live: Live }) {
  const connection = live.connection.value;
  const leftOut = live.leftOut.value;
  const isStopped = connection === "lost" || connection === "refused" || connection === "ended";
  return (
    <p class={`connection ${connection}`} role="status">
      <span aria-hidden="true">{connection === "live" ? "●" : "○"}</span> {say(WORDS[connection])}
      {isStopped && `, ${say("as of {1}", new Date(live.asOfMs.value).toTimeString().slice(0, 8))}`}
      {leftOut > 0 && `, ${say("{1} earlier facts left out", leftOut)}`}
    </p>
  );
}

/** The state tables that the command shows next to its facts. */
export function StateTables({ live }: { readonly live: Live }) {
  const tables = live.tables.value;
  if (tables.length === 0) return null;
  return (
    <section class="states" aria-label="State">
      {tables.map(({ title, columns, rows, note }) => (
        <div key={title}>
          {rows.length > 0 || note === undefined ? (
            <Table title={title} columns={columns} rows={rows} />
          ) : (
            <h3>{printable(title)}</h3>
          )}
          {note !== undefined && <p class="dim">{printable(note)}</p>}
        </div>
      ))}
    </section>
  );
}

/** The keys of the command's window. On a phone, many of them would fill the screen before the text: they open below their number. */
export function KeyButtons({ live, isFolded }: { readonly live: Live; readonly isFolded: boolean }) {
  const keys = live.keys.value;
  if (keys.length === 0) return null;
  const buttons = (
    <div class="keys" role="toolbar" aria-label="Keys of the window">
      {keys.map(({ key, short, label, enabled }) => (
        <button key={key} type="button" title={label} disabled={!enabled} onClick={() => void live.press(key)}>
          <kbd>{key}</kbd> {short}
        </button>
      ))}
      {live.refusal.value !== "" && <p role="alert">{live.refusal.value}</p>}
    </div>
  );
  return isFolded ? (
    <details>
      <summary>{say("{1} keys", keys.length)}</summary>
      {buttons}
    </details>
  ) : (
    buttons
  );
}
