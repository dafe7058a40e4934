import { type EventRecorder, type EventSink, Recorder } from "../../../client-go/record/recorder.js";
import { messageOf } from "../../../util/errors.js";
import type { LocalClient } from "../../registry/registry.js";
import type { ControllerDeps } from "../controller.js";
import { AS_CONTROLLER } from "./shared-deps.js";

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
      trace.emit({ kind: "error", message: `event ${reason} was not written: ${messageOf(error)}` }, AS_CONTROLLER);
    this.#recorder = new Recorder({ clock, sink: localSink(client), onError }, { source: { component }, kubeVersion });
  }

  event(...[about, type, reason, message]: Parameters<EventRecorder["event"]>): void {
    const object = `${about.kind}/${about.name}`;
    this.deps.trace.emit({ kind: "event", type, reason, message, object }, AS_CONTROLLER);
    this.#recorder.event(about, type, reason, message);
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
