import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { counted } from "../../../../util/text/counted.js";
import { MAX_STEPS } from "../../../story/roles.js";
import { colonBefore } from "../lanes.js";
import { say } from "../language.js";
import { Found, hovers } from "../marks.js";
import type { PlotStep } from "../plot.js";
import type { PageState } from "../state.js";
import { isBad, transportOf, whoOf } from "../words.js";

interface PlotListProps {
  readonly state: PageState;
  /** shown below the selected row, or below the latest one of a page that follows */
  readonly opened: ComponentChildren;
}

/** The story: one numbered sentence per step, as in the terminal, with its transport below. */
export function PlotList({ state, opened }: PlotListProps) {
  const list = useRef<HTMLDivElement>(null);
  const plot = state.plot.value;
  const selected = state.selected.value;
  useEffect(() => {
    list.current?.querySelector(".selected")?.scrollIntoView({ block: "nearest" });
  }, [selected]);
  const isFollowing = state.isFollowing.value;
  useEffect(() => {
    if (isFollowing && list.current !== null) list.current.scrollTop = list.current.scrollHeight;
  });
  const rows = state.rows.value.flatMap((step) => plot?.byStep.get(step) ?? []);
  const shown = isFollowing ? rows.at(-1)?.step : selected;
  return (
    <section class="plot" aria-label={say("Story")}>
      <PlotChoice state={state} />
      <Before state={state} />
      <div
        class="rows"
        id="rows"
        ref={list}
        role="listbox"
        tabIndex={0}
        aria-label={counted(rows.length, "step")}
        aria-activedescendant={selected === undefined ? undefined : `step-${selected.event.id}`}
      >
        {rows.length === 0 && <p class="nothing">{say("No step matches the filter.")}</p>}
        {rows.map((told) => (
          <PlotRow
            key={told.step.event.id}
            state={state}
            told={told}
            opened={told.step === shown ? opened : undefined}
          />
        ))}
        {plot?.steps.length === MAX_STEPS && (
          <p class="nothing">{say("The story ends here, after {1} steps: Everything has the rest.", MAX_STEPS)}</p>
        )}
      </div>
    </section>
  );
}

/** Earlier stories of the trace. */
function PlotChoice({ state }: { readonly state: PageState }) {
  const plots = state.plots.value;
  if (plots.length < 2) return <h2>{state.plot.value?.title}</h2>;
  return (
    <select
      aria-label={say("Story")}
      value={state.plot.value?.title}
      onChange={(event) => {
        state.plotTitle.value = event.currentTarget.value;
        state.select(state.plot.value?.steps[0]?.step);
      }}
    >
      {plots.map(({ title }) => (
        <option key={title} value={title}>
          {title}
        </option>
      ))}
    </select>
  );
}

/** What happened before the story, as one row that leads to the facts. */
function Before({ state }: { readonly state: PageState }) {
  const startMs = state.plot.value?.startMs ?? 0;
  const { steps } = state.story;
  const count = steps.filter((step) => step.startMs < startMs).length;
  if (count === 0) return null;
  const actors = new Set(steps.slice(0, count).map(({ event }) => event.actor));
  const hasCluster = (["apiserver", "controller", "scheduler"] as const).some((actor) => actors.has(actor));
  const hasNode = actors.has("kubelet");
  const started = hasCluster
    ? say(hasNode ? "before: cluster started, node joined" : "before: cluster started")
    : say(hasNode || actors.has("runtime") ? "before: runtime started" : "before");
  return (
    <button type="button" class="before" onClick={() => state.look("all")}>
      <span aria-hidden="true">▸</span> {started} <small>{count === 1 ? say("1 fact") : say("{1} facts", count)}</small>
    </button>
  );
}

interface PlotRowProps extends PlotListProps {
  readonly told: PlotStep;
}

function PlotRow({ state, told, opened }: PlotRowProps) {
  const { step, number, text, sent = step } = told;
  const isSelected = step === state.selected.value;
  const { all } = state.chain.value;
  const classes = [
    "told-row",
    isSelected ? "selected" : all.has(step) ? "linked" : "",
    isBad(step.event) ? "failure" : "",
    step === state.hovered.value ? "hovered" : "",
  ];
  const transport = transportOf(sent.event);
  const words = state.filter.value.search;
  return (
    <>
      {/* The list has the focus and handles the keys of its options. */}
      {/* biome-ignore lint/a11y/useFocusableInteractive: aria-activedescendant of the listbox */}
      {/* biome-ignore lint/a11y/useKeyWithClickEvents: the listbox handles keys */}
      <div
        id={`step-${step.event.id}`}
        class={classes.filter(Boolean).join(" ")}
        role="option"
        aria-selected={isSelected}
        aria-label={`${number}. ${whoOf(step)} ${text}`}
        onClick={() => state.select(step)}
        {...hovers(state, step)}
      >
        <b class="number">{number}</b>
        <span>
          <b class={`actor ${step.lane.actor}`}>
            {whoOf(step)}
            {colonBefore(text)}
          </b>{" "}
          <Found text={text} words={words} />
          {transport !== "" && transport !== text && (
            <small>
              <Found text={transport} words={words} />
            </small>
          )}
        </span>
      </div>
      {opened !== undefined && <div class="opened">{opened}</div>}
    </>
  );
}
