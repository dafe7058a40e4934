import { counted } from "../../../../util/text/counted.js";
import { isReceived } from "../lanes.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { durationWords, outcomeOf, secondsOf, titleOf } from "../words.js";

/** The most steps that are printed. */
const MAX_ROWS = 1000;

/** The steps of the filter as a table, for paper. */
export function PrintedList({ state }: { readonly state: PageState }) {
  const rows = state.rows.value;
  return (
    <table>
      <caption>
        {rows.length > MAX_ROWS
          ? `The first ${MAX_ROWS} of ${rows.length} steps: filter to print others.`
          : counted(rows.length, "step")}
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
        {rows.slice(0, MAX_ROWS).map((step) => (
          <PrintedRow key={step.event.id} state={state} step={step} />
        ))}
      </tbody>
    </table>
  );
}

function PrintedRow({ state, step }: { readonly state: PageState; readonly step: Step }) {
  const { event, lane, target, startMs } = step;
  const repeat = state.counters.get(step);
  const outcome = [
    outcomeOf(event),
    "durationMs" in event && durationWords(event.durationMs),
    repeat !== undefined && `${repeat.others.length + 1} times`,
  ];
  return (
    <tr>
      <td>{secondsOf(startMs - state.story.startMs)}</td>
      <td>{[lane.key, target?.key].filter(Boolean).join(isReceived(event) ? " ← " : " → ")}</td>
      <td>{titleOf(event)}</td>
      <td>{outcome.filter(Boolean).join(", ")}</td>
    </tr>
  );
}
