/** An action on the runtime of a lab, by a key, a button or a POST. */
export interface LabAction {
  /** in URLs: `kill` */
  readonly id: string;
  /** one character */
  readonly key: string;
  /** `kill it (exit code 137)` */
  readonly label: string;
  /** on a button: `kill` */
  readonly short: string;
  /** its target; `runtime`: the whole runtime */
  readonly on: "container" | "sandbox" | "runtime";
}

/** A container or sandbox as the target of an action. */
export interface LabTarget {
  readonly kind: "container" | "sandbox";
  readonly id: string;
  /** the sandbox itself, or the container's; a pod can have several */
  readonly sandboxId: string;
  /** `default/myngx` */
  readonly pod: string;
  /** the container's name; `sandbox` */
  readonly name: string;
  /** the runtime's own state, which PLEG may not know yet */
  readonly state: string;
}

/** The embedded runtime and the actions that change it behind the kubelet's back. */
export interface LabRuntime extends AsyncDisposable {
  /** its endpoint, the only thing that PLEG knows */
  readonly endpoint: string;
  readonly actions: readonly LabAction[];
  /** in a fixed order */
  targets(): Promise<readonly LabTarget[]>;
  /** the active faults: `lists hang` */
  faults(): readonly string[];
  /**
   * @param targetId a container's or sandbox's ID; absent for actions on the runtime
   * @returns a sentence about what was done
   * @throws LabError USAGE for an unknown action or target, or if they do not fit
   */
  act(actionId: string, targetId: string | undefined): Promise<string>;
  close(): Promise<void>;
}
