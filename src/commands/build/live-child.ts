import { writeSync } from "node:fs";
import { text } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { liveOf, openTask } from "../../lab/build/library.js";
import type { FromLive } from "../../lab/build/live.js";
import type { Written } from "../../lab/build/parts/part.js";
import { PARTS } from "../../lab/build/parts/parts.js";
import { runScenario } from "../../lab/chaos/run.js";
import { parseScenario } from "../../lab/chaos/scenario.js";
import type { TraceEvent } from "../../trace/events.js";
import { LabError, messageOf } from "../../util/errors.js";
import { endWithParent } from "../../util/os/watchdog.js";
import { SeededRandom } from "../../util/seeded-random.js";
import type { CliContext } from "../cli/context.js";

/** The parent reads lines here: the learner's code may print on the other descriptors. */
const REPORT_FD = 3;

function send(message: FromLive): void {
  writeSync(REPORT_FD, `${JSON.stringify(message)}\n`);
}

/**
 * Plays the scenario of a task in this process, for `build check`.
 * It reads the path of the learner's file from its standard input, once the control plane runs; empty: kubelab's own part.
 */
export async function runLiveChild(context: CliContext, id: string): Promise<void> {
  (await endWithParent()).unref();
  const task = await openTask(id);
  const live = await liveOf(task);
  if (live === undefined || task.live === undefined)
    throw new LabError("USAGE", `${id} has no live run`, "See kubelab build.");
  const { live: part } = task;
  const parts = async () => {
    const file = await text(context.streams.stdin);
    return PARTS[part](file === "" ? undefined : ((await import(pathToFileURL(file).href)) as Written));
  };
  const scenario = parseScenario(live, `${id}/live.yaml`);
  const onFact = (event: TraceEvent) => {
    if (isCompared(event)) send({ type: "fact", event: withoutBodies(event) });
  };
  try {
    const deps = { context, random: new SeededRandom(1), onFact, parts };
    send({ type: "end", judgements: await runScenario(deps, scenario) });
  } catch (error) {
    send({ type: "failed", text: messageOf(error) });
  }
}

/** What the kubelet did and decided: reads and timers differ with the machine's speed. */
function isCompared(event: TraceEvent): boolean {
  if (event.actor !== "kubelet") return false;
  if (event.kind === "request") {
    // The tokens of a join are random; Events are facts of their own.
    return (
      event.method !== "GET" && event.status !== undefined && !/certificatesigningrequests|\/events\b/.test(event.path)
    );
  }
  if (event.kind === "event" || event.kind === "error") return true;
  // The moment of a rotation is random, and what PLEG sees but does not send depends on the moment of its list.
  return event.kind === "decision" && !/certificate|\(not sent\)/.test(event.what) && (event.level ?? 0) <= 1;
}

function withoutBodies(event: TraceEvent): TraceEvent {
  if (event.kind !== "request") return event;
  const { requestBody: _request, responseBody: _response, ...rest } = event;
  return rest;
}
