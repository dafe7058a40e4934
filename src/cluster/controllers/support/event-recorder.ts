import type { LocalClient } from "../../../staging/client-go/dynamic/interface.js";
import { type EventRecorder, type EventSink, Recorder } from "../../../staging/client-go/record/recorder.js";
import { messageOf } from "../../../util/errors.js";
import type { ControllerDeps } from "../controller.js";
import { asController } from "./shared-deps.js";

type RecorderDeps = Pick<ControllerDeps, "client" | "clock" | "trace" | "kubeVersion">;

/** Records a component's Events and reports them to the trace. */
export class ControllerRecorder implements EventRecorder {
  readonly #recorder: Recorder;

  constructor(
    readonly deps: RecorderDeps,
    component: string,
  ) {
    const { client, clock, trace, kubeVersion } = deps;
    const onError = (error: unknown, reason: string) =>
      asController(trace, { kind: "error", message: `event ${reason} was not written: ${messageOf(error)}` });
    this.#recorder = new Recorder({ clock, sink: localSink(client), onError }, { source: { component }, kubeVersion });
  }

  event(...[about, type, reason, message]: Parameters<EventRecorder["event"]>): void {
    const object = `${about.kind}/${about.name}`;
    const { trace } = this.deps;
    const cause = asController(trace, { kind: "event", type, reason, message, object });
    trace.because(cause, () => this.#recorder.event(about, type, reason, message));
  }

  /** Resolves when every event recorded so far was written or dropped. */
  flush(): Promise<void> {
    return this.#recorder.flush();
  }
}

function localSink(client: LocalClient): EventSink {
  return {
    create: async (namespace, event) => {
      await client.create("events", namespace, event);
      return true;
    },
    patch: async (namespace, name, patch) =>
      (await client.modify("events", namespace, name, (event) => ({ ...event, ...patch }))) !== undefined,
  };
}
