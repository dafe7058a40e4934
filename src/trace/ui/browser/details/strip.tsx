import { colonBefore } from "../lanes.js";
import { say } from "../language.js";
import { Found, Sign } from "../marks.js";
import type { PageState } from "../state.js";
import { titleOf, whoOf } from "../words.js";
import { UpstreamLink } from "./details.js";

/** What the selected step is, in one sentence, and why; links to what explains it. */
export function Strip({ state }: { readonly state: PageState }) {
  const latest = state.isFollowing.value && state.view.value === "story" ? state.plot.value?.steps.at(-1) : undefined;
  const step = latest?.step ?? state.selected.value;
  if (step === undefined) return <Welcome state={state} />;
  const { event } = step;
  const told = state.plot.value?.byStep.get(step);
  const why = told?.why ?? (event.kind === "decision" ? event.why : "");
  const upstream = told?.upstream ?? ("upstream" in event ? event.upstream : undefined);
  const topic = told?.topic;
  const text = told?.text ?? titleOf(event);
  return (
    <section class="strip" aria-label={say("Step")} aria-live="polite">
      {state.missing.value !== "" && (
        <p role="alert">
          {say("This trace has no fact {1}, which the address names: here is another step.", state.missing.value)}
        </p>
      )}
      <h2>
        {told === undefined ? <Sign kind={event.kind} actor={event.actor} /> : <b class="number">{told.number}</b>}{" "}
        <span class={`actor ${event.actor}`}>
          {whoOf(step)}
          {colonBefore(text)}
        </span>{" "}
        <Found text={text} />
      </h2>
      {why !== "" && <p class="because">{why}</p>}
      <p class="links">
        {topic !== undefined && (
          <>
            <code>kubelab explain {topic.includes(" ") ? `"${topic}"` : topic}</code>{" "}
          </>
        )}
        <UpstreamLink upstream={upstream} />
      </p>
    </section>
  );
}

/** What one sees, before a step is selected. */
function Welcome({ state }: { readonly state: PageState }) {
  const lines = [
    "The list has what happened, in order. Select a step: the picture shows the cluster after it.",
    "Messages go along the lines. A dashed box does not exist yet, or no longer.",
    state.isLive
      ? "The picture shows the cluster now, and the list follows its end."
      : "The keys ← and → lead from a step to its cause and to its effect.",
  ];
  return (
    <section class="strip" aria-label={say("Step")}>
      {lines.map((line) => (
        <p key={line}>{say(line)}</p>
      ))}
    </section>
  );
}
