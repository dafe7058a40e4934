import type { ComponentChildren } from "preact";
import type { TraceEvent, Upstream } from "../../../events.js";
import { printable } from "../../../terminal/text.js";
import { upstreamUrl } from "../../../upstream.js";
import { parseBodies } from "../../facts.js";
import legend from "../content/legend.json" with { type: "json" };
import { say } from "../language.js";
import { Found, Sign } from "../marks.js";
import type { PageState } from "../state.js";
import type { Step } from "../step.js";
import { durationWords, outcomeOf, secondsOf, titleOf } from "../words.js";
import { type Change, diffObjects } from "./diff.js";
import { Table } from "./table.js";
import { versionsAround } from "./versions.js";

/** All details of the selected step. */
export function Details({ state }: { readonly state: PageState }) {
  const step = state.selected.value;
  if (step === undefined) {
    return (
      <section class="details" aria-label={say("Details")}>
        <p>{say("Select a step to see what it sent and got, what caused it, and what it caused.")}</p>
      </section>
    );
  }
  const { event } = step;
  return (
    <section class="details" aria-label={say("Details")}>
      <h2>
        <Sign kind={event.kind} actor={event.actor} /> <Found text={titleOf(event)} />
      </h2>
      <Facts state={state} step={step} />
      <Decision event={event} />
      <ChainList state={state} step={step} />
      <ObjectDiff state={state} step={step} />
      <BodyTexts step={step} />
      <Fold title={say("The fact as it was recorded")} text={JSON.stringify(event, null, 2)} />
    </section>
  );
}

function Facts({ state, step }: { readonly state: PageState; readonly step: Step }) {
  const { event, lane } = step;
  const began = step.startMs - state.span.value.startMs;
  const rows: (readonly [string, string | undefined])[] = [
    ["actor", [say(lane.name), event.instance].filter(Boolean).join(" ")],
    ["kind", event.kind],
    ["time", `${secondsOf(began)} s, ${new Date(step.startMs).toISOString()}`],
    ["took", "durationMs" in event ? durationWords(event.durationMs) : undefined],
    ["outcome", [outcomeOf(event), "outcome" in event ? event.outcome : undefined].filter(Boolean).join(" ")],
    ["failure", event.kind === "request" ? event.failure : undefined],
    ["identity", event.kind === "request" ? event.identity : undefined],
    ["server", event.kind === "request" ? event.server : event.kind === "rpc" ? event.endpoint : undefined],
    ["payload", event.kind === "frame" ? event.head : undefined],
    ["repeats", event.every === undefined ? undefined : say("every {1}", event.every)],
    ["hint", event.kind === "error" ? event.hint : undefined],
    ["chapter", event.chapter],
    ["pod", event.pod],
  ];
  return (
    <dl>
      {rows.map(([name, value]) =>
        value === undefined || value === "" ? null : (
          <div key={name}>
            <dt>{say(name)}</dt>
            <dd>{printable(value)}</dd>
          </div>
        ),
      )}
    </dl>
  );
}

function Decision({ event }: { readonly event: TraceEvent }) {
  if (event.kind === "table") return <Table {...event} />;
  if (event.kind !== "decision") return null;
  return (
    <>
      {event.changes !== undefined && (
        <Table
          title={say("Changes, as a JSON patch")}
          columns={["op", "path", say("value")]}
          rows={event.changes.map(({ op, path, value }) => [
            op,
            path,
            value === undefined ? "" : JSON.stringify(value),
          ])}
        />
      )}
      {event.constants !== undefined && event.constants.length > 0 && (
        <Table
          title={say("Constants")}
          columns={[say("constant"), say("value"), say("since")]}
          rows={event.constants.map(({ name, value, release }) => [name, value, release ?? ""])}
        />
      )}
    </>
  );
}

/** A link to the file that the step mirrors. */
export function UpstreamLink({ upstream }: { readonly upstream: Upstream | undefined }) {
  if (upstream === undefined) return null;
  const { file, func } = upstream;
  const url = upstreamUrl(file);
  const name = `${file.slice(file.lastIndexOf("/") + 1)} ${func}`;
  return url === undefined ? (
    <span>{printable(`${file} ${func}`)}</span>
  ) : (
    <a href={url} target="_blank" rel="noopener noreferrer" title={file}>
      {name}
    </a>
  );
}

function ChainList({ state, step }: { readonly state: PageState; readonly step: Step }) {
  const { causes, effects, hasMoreEffects } = state.chain.value;
  const { origin } = causes[0]?.event ?? step.event;
  const isUnobserved = state.story.hasUnobservedCause(causes[0] ?? step);
  return (
    <>
      <h3 id="causes">{say("Caused by")}</h3>
      {isUnobserved && <p class="dim">{say("The chain begins in a program whose facts are not in this trace.")}</p>}
      {origin !== undefined && <p class="dim">{say("It began with: {1}", say(ORIGINS[origin] ?? String(origin)))}</p>}
      {causes.length > 0 && (
        <ol class="chain" aria-labelledby="causes">
          {causes.map((cause) => (
            <ChainItem key={cause.event.id} state={state} step={cause} depth={0} />
          ))}
        </ol>
      )}
      <h3 id="effects">
        {say("Caused")} {effects.length === 0 && <span class="dim">{say("nothing that was recorded")}</span>}
      </h3>
      {effects.length > 0 && (
        <ol class="chain" aria-labelledby="effects">
          {effects.map((link) => (
            <ChainItem key={link.step.event.id} state={state} step={link.step} depth={link.depth - 1} />
          ))}
        </ol>
      )}
      {hasMoreEffects && <p class="dim">{say("There are more: select one of these to follow it.")}</p>}
    </>
  );
}

const ORIGINS: Readonly<Record<string, string>> = legend.origins;

function ChainItem({ state, step, depth }: { readonly state: PageState; readonly step: Step; readonly depth: number }) {
  const { event, lane } = step;
  return (
    <li style={{ marginInlineStart: `${Math.min(depth, 8) * 12}px` }}>
      <button type="button" onClick={() => state.select(step)}>
        <Sign kind={event.kind} actor={event.actor} />
        <span>
          <span class="who">{say(lane.name)}</span> {titleOf(event)}
        </span>
      </button>
    </li>
  );
}

function ObjectDiff({ state, step }: { readonly state: PageState; readonly step: Step }) {
  const versions = versionsAround(state.story, step);
  if (versions === undefined) return null;
  const changes = diffObjects(versions.before, versions.after);
  const name = [versions.after.kind ?? versions.before.kind, versions.after.metadata?.name].filter(Boolean).join(" ");
  return (
    <>
      <h3>{say("What changed in {1}", printable(name))}</h3>
      {changes.length === 0 ? (
        <p class="dim">{say("Nothing but its version.")}</p>
      ) : (
        <ul class="diff">{changes.map(DiffItem)}</ul>
      )}
    </>
  );
}

function DiffItem({ path, before, after }: Change) {
  return (
    <li key={path}>
      <code>{printable(path)}</code>
      {before !== undefined && <del>{printable(before)}</del>}
      {after !== undefined && <ins>{printable(after)}</ins>}
    </li>
  );
}

function BodyTexts({ step }: { readonly step: Step }) {
  const { requestBody, responseBody } = parseBodies(step.bodies);
  return (
    <>
      {requestBody !== undefined && <Fold title={say("Sent")} text={JSON.stringify(requestBody, null, 2)} />}
      {responseBody !== undefined && <Fold title={say("Got")} text={JSON.stringify(responseBody, null, 2)} />}
    </>
  );
}

function Fold({ title, text }: { readonly title: string; readonly text: string }): ComponentChildren {
  return (
    <details>
      <summary>{title}</summary>
      {/* A long body scrolls, so the keyboard must reach it. */}
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls */}
      <pre tabIndex={0}>{printable(text)}</pre>
    </details>
  );
}
