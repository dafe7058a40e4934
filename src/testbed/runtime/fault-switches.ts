import type { RemoteControl } from "../../cluster/runtime/control/control.js";
import type { Fault } from "../../cluster/runtime/control/faults.js";
import type { LabAction } from "./lab-runtime.js";

interface Switch {
  readonly action: LabAction;
  /** `lists hang` */
  readonly state: string;
  readonly on: string;
  readonly off: string;
  turn(control: RemoteControl, isOn: boolean): void | Promise<void>;
}

const LISTS = ["ListPodSandbox", "ListContainers"];
const INSPECTIONS = ["PodSandboxStatus", "ContainerStatus"];
const SLOW_MS = 3_000;

function fault(rpcs: readonly string[], what: Fault): Switch["turn"] {
  return async (control, isOn) => {
    for (const rpc of rpcs) await control.setFault(rpc, isOn ? what : undefined);
  };
}

const SWITCHES: readonly Switch[] = [
  {
    action: { id: "hang", key: "h", label: "let lists hang, or not", short: "lists hang", on: "runtime" },
    state: "lists hang",
    on: "lists of the runtime hang from now on",
    off: "lists of the runtime are answered again",
    turn: fault(LISTS, { hangs: true }),
  },
  {
    action: { id: "slow", key: "w", label: "let lists take 3 s, or not", short: "lists take 3 s", on: "runtime" },
    state: "lists take 3 s",
    on: "lists of the runtime take 3 s from now on",
    off: "lists of the runtime take no time again",
    turn: fault(LISTS, { delayMs: SLOW_MS }),
  },
  {
    action: {
      id: "fail-inspections",
      key: "i",
      label: "let inspections fail, or not",
      short: "inspections fail",
      on: "runtime",
    },
    state: "inspections fail",
    on: "inspections fail from now on: events will have to wait",
    off: "inspections succeed again",
    turn: fault(INSPECTIONS, { fail: { code: "Unknown", message: "shim is not answering" } }),
  },
  {
    action: {
      id: "drop-events",
      key: "e",
      label: "lose the runtime's events, or not",
      short: "events get lost",
      on: "runtime",
    },
    state: "the runtime's events get lost",
    on: "the runtime's events get lost from now on: only a relist will notice",
    off: "the runtime's events arrive again",
    turn: (control, isOn) => control.dropEvents(isOn),
  },
];

const ON_LISTS: readonly Switch[] = SWITCHES.filter(({ action: { id } }) => id === "hang" || id === "slow");

const CUT: LabAction = {
  id: "cut-streams",
  key: "c",
  label: "cut the stream of events",
  short: "cut the event stream",
  on: "runtime",
};

/** The faults of the runtime, each with a switch. */
export class FaultSwitches {
  readonly actions: readonly LabAction[] = [...SWITCHES.map(({ action }) => action), CUT];
  readonly #on = new Set<Switch>();

  constructor(readonly control: RemoteControl) {}

  /** the active faults, in words */
  on(): readonly string[] {
    return Array.from(this.#on, ({ state }) => state);
  }

  /** @returns the new state */
  async turn(actionId: string): Promise<string> {
    const found = SWITCHES.find(({ action }) => action.id === actionId);
    if (found === undefined) {
      await this.control.breakEventStreams();
      return "the stream of events has been cut";
    }
    const isOn = !this.#on.delete(found);
    if (isOn) {
      // Two faults concern the same calls: the later one replaces the other.
      for (const other of this.#on) if (ON_LISTS.includes(found) && ON_LISTS.includes(other)) this.#on.delete(other);
      this.#on.add(found);
    }
    await found.turn(this.control, isOn);
    return isOn ? found.on : found.off;
  }
}
