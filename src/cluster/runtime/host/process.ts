import { runInScope } from "../../../trace/scope.js";
import { type Level, Trace } from "../../../trace/trace.js";
import { SystemClock } from "../../../util/clock.js";
import { EventLoop } from "../../../util/os/event-loop.js";
import { endWithParent } from "../../../util/os/watchdog.js";
import { SystemRandom } from "../../../util/random.js";
import type { RuntimeControl } from "../control/control.js";
import { type RunningRuntime, startRuntime } from "../start.js";
import { type HostMessage, type ProcessMessage, type ProcessOptions, toErrorMessage } from "./messages.js";

/** Commands that last a second need no watchdog, which costs some ms to start. */
const WATCHDOG_AFTER_MS = 2_000;

// The process of an embedded runtime, started by a RuntimeHost. It ends with its host.
process.title = "kubelab-runtime";
process.once("disconnect", () => process.exit());
await serve(JSON.parse(process.argv[2] ?? "") as ProcessOptions);

async function serve({ clock: reading, wantedLevel, ...options }: ProcessOptions): Promise<void> {
  const clock = new SystemClock();
  clock.follow(reading);
  const trace = new Trace(clock);
  let wanted = wantedLevel;
  trace.addSink({
    // A sink has no level below 0.
    get level(): Level {
      return wanted === -1 ? 0 : wanted;
    },
    write: (event) => {
      if (event.level <= wanted) send({ type: "fact", event });
    },
  });
  let runtime: RunningRuntime;
  try {
    runtime = await startRuntime({ ...options, clock, trace, random: new SystemRandom() });
  } catch (error) {
    send({ type: "refused", error: toErrorMessage(error) });
    process.disconnect();
    return;
  }
  const loop = new EventLoop();
  process.on("message", (message: HostMessage) => {
    if (message.type === "call") void answer(runtime.control, message);
    else if (message.type === "clock") clock.follow(message.reading);
    else if (message.type === "settle") void settle(clock, loop, message.id);
    else if (message.type === "level") wanted = message.wantedLevel;
    else if (message.type === "watch") void sendChanges(runtime.control);
    else runtime.close().finally(() => process.exit());
  });
  send({ type: "listening", endpoint: runtime.endpoint });
  new SystemClock().timer(WATCHDOG_AFTER_MS, endWithParent);
}

/** The message itself is one event. */
async function settle(clock: SystemClock, loop: EventLoop, id: number): Promise<void> {
  const wasActive = await loop.settle(1);
  send({ type: "answer", id, value: { wasActive, timers: clock.pending } });
}

async function answer(
  control: RuntimeControl,
  { id, method, given, scope }: Extract<HostMessage, { readonly type: "call" }>,
): Promise<void> {
  try {
    const call = control[method] as (...given: readonly unknown[]) => unknown;
    send({ type: "answer", id, value: await runInScope(scope, () => call.apply(control, [...given])) });
  } catch (error) {
    send({ type: "failed", id, error: toErrorMessage(error) });
  }
}

async function sendChanges(control: RuntimeControl): Promise<void> {
  for await (const change of control.changes(new AbortController().signal)) send({ type: "change", change });
}

/** A message can only fail when the host has ended; `disconnect` then ends this process. */
function send(message: ProcessMessage): void {
  process.send?.(message, undefined, undefined, () => {});
}
