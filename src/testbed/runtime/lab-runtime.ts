/** Something that can be done to the runtime of a lab, by a key, a button or a POST. */
export interface LabAction {
  /** in URLs: `kill` */
  readonly id: string;
  /** one character */
  readonly key: string;
  /** `kill it (exit code 137)` */
  readonly label: string;
  /** on a button: `kill` */
  readonly short: string;
  /** what it is done to; `runtime`: to all of it */
  readonly on: "container" | "sandbox" | "runtime";
}

/** A container or sandbox that an action can be aimed at. */
export interface LabTarget {
  readonly kind: "container" | "sandbox";
  readonly id: string;
  /** the sandbox that it is, or is in: a pod may have another beside it */
  readonly sandboxId: string;
  /** `default/myngx` */
  readonly pod: string;
  /** the container's name; `sandbox` */
  readonly name: string;
  /** as the runtime itself has it, which PLEG may not know yet */
  readonly state: string;
}

/** The embedded runtime as the lab plays with it, behind the kubelet's back. */
export interface LabRuntime {
  /** where it listens: the only way in which PLEG knows it */
  readonly endpoint: string;
  readonly actions: readonly LabAction[];
  /** in an order that does not change while it runs */
  targets(): Promise<readonly LabTarget[]>;
  /** what is switched on that disturbs calls: `lists hang` */
  faults(): readonly string[];
  /**
   * @param targetId a container's or sandbox's ID; none for actions on the runtime
   * @returns what was done, as a sentence
   * @throws LabError USAGE for an action or target that there is none of, or that do not fit
   */
  act(actionId: string, targetId: string | undefined): Promise<string>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
