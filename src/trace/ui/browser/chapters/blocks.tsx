import { printable } from "../../../terminal/text.js";
import { say } from "../language.js";
import { Found } from "../marks.js";
import type { Block, Cell, Mark, Slot, Tone } from "./chapter.js";

/** Shows a tone without colour. */
const SIGNS: Readonly<Record<Tone, string>> = { done: "✓", now: "●", ahead: "○", bad: "✕", gone: "◌" };
/** For screen readers. */
const WORDS: Readonly<Record<Tone, string>> = {
  done: "happened",
  now: "now",
  ahead: "not yet",
  bad: "failed",
  gone: "gone",
};

/** A part of a chapter's picture. */
export function BlockView({ block }: { readonly block: Block }) {
  switch (block.kind) {
    case "line":
      return (
        <p class={`line ${block.tone}`}>
          {block.text !== "" && <SignOf tone={block.tone} />} {printable(block.text)}
          {block.sub !== undefined && <span class="sub">{printable(block.sub)}</span>}
        </p>
      );
    case "way":
      return (
        <ol class="way">
          {block.marks.map((mark, i) => (
            <MarkView key={i} mark={mark} />
          ))}
        </ol>
      );
    case "slots":
      return (
        <ul class="slots">
          {block.slots.map((slot) => (
            <SlotView key={slot.name} slot={slot} />
          ))}
        </ul>
      );
    case "meter":
      return (
        <p class="left-over">
          <meter aria-label={block.text} max={block.maxMs} low={block.maxMs / 4} value={Math.max(0, block.ms)} />{" "}
          {block.text}
        </p>
      );
    case "table":
      return (
        <table>
          <thead>
            <tr>
              {block.columns.map((column, i) => (
                <th key={i} scope="col">
                  {column}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {block.rows.map(({ tone, cells }, i) => (
              <tr key={i} class={tone} data-current={tone === "now" || tone === "bad" ? "" : undefined}>
                {cells.map((cell, j) => (
                  <td key={j} colSpan={j === cells.length - 1 ? block.columns.length - j : 1}>
                    <CellView cell={cell} />
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      );
  }
}

function SignOf({ tone }: { readonly tone: Tone }) {
  return (
    <span class="tone" role="img" aria-label={say(WORDS[tone])}>
      {SIGNS[tone]}
    </span>
  );
}

function MarkView({ mark: { title, text, code, tone } }: { readonly mark: Mark }) {
  return (
    <li class={tone} data-current={tone === "now" || tone === "bad" ? "" : undefined}>
      <SignOf tone={tone} />
      <span>
        <b>{printable(title)}</b>
        {text !== undefined && (
          <span class="sub" title={printable(text)}>
            {printable(text)}
          </span>
        )}
        {code !== undefined && code !== "" && (
          <code>
            <Found text={printable(code)} />
          </code>
        )}
      </span>
    </li>
  );
}

function SlotView({ slot: { name, waiting, count, doing, tone } }: { readonly slot: Slot }) {
  return (
    <li class={tone}>
      <b>{name}</b>
      <span class={count > 0 ? "waiting full" : "waiting"}>
        <span class="times" aria-hidden="true">
          {count}
        </span>{" "}
        {waiting}
      </span>
      <span class="into" aria-hidden="true">
        →
      </span>
      <span class="doing">
        <SignOf tone={tone} /> {printable(doing)}
      </span>
    </li>
  );
}

function CellView({ cell }: { readonly cell: string | Cell }) {
  if (typeof cell === "string") return <Found text={printable(cell)} />;
  return (
    <>
      {printable(cell.text)}
      <i class="bar" style={{ width: `${Math.round(cell.share * 100)}%` }} />
    </>
  );
}
