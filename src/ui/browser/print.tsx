import type { PageState } from "./state.js";
import { durationWords, outcomeOf, secondsOf, titleOf } from "./words.js";

/** More would be a book. */
const MAX_ROWS = 1000;

/** The steps of the filter as a table, for paper. */
export function PrintedList({ state }: { readonly state: PageState }) {
  const rows = state.rows.value;
  return (
    <table>
      <caption>
        {rows.length > MAX_ROWS
          ? `The first ${MAX_ROWS} of ${rows.length} steps: filter to print others.`
          : `${rows.length} steps`}
      </caption>
      <thead>
        <tr>
          <th scope="col">seconds</th>
          <th scope="col">actor</th>
          <th scope="col">what happened</th>
          <th scope="col">outcome</th>
        </tr>
      </thead>
      <tbody>
        {rows.slice(0, MAX_ROWS).map(({ event, lane, target, startMs }) => (
          <tr key={event.id}>
            <td>{secondsOf(startMs - state.story.startMs)}</td>
            <td>{[lane.key, target?.key].filter(Boolean).join(event.kind === "watch" ? " ← " : " → ")}</td>
            <td>{titleOf(event)}</td>
            <td>
              {[outcomeOf(event), "durationMs" in event && durationWords(event.durationMs)].filter(Boolean).join(", ")}
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
