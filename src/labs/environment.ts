import type { KubeClient } from "../client-go/rest/client.js";
import type { Clock } from "../util/clock.js";
import type { CommandResult, CommandRunner } from "./runner.js";
import type { Values } from "./variables.js";

export type InjectionArguments = Readonly<Record<string, string | number | boolean>>;

/** Where a lab happens: a cluster, a folder, programs. Only the rooms above know how one is made. */
export interface LabEnvironment extends AsyncDisposable {
  /** the lab's own: its commands run in it, it goes away with the lab */
  readonly folder: string;
  /** as the cluster's administrator */
  readonly client: KubeClient;
  /** the lab's time, which may run fast */
  readonly clock: Clock;
  /** the time of whoever waits */
  readonly wall: Clock;
  /** ms of the wall's clock that a check with a time limit goes on in any case: 0 for learners */
  readonly patienceMs: number;
  readonly runner: CommandRunner;
  /** `server`, `kubeconfig`, `folder`, `onNode`; of nodes: `kubelet1`, `runtime1`, `control1` */
  readonly given: Values;
  /** how many times as fast as the wall's the lab's clock runs */
  readonly speed: number;
  readonly canSetSpeed: boolean;
  /** Time does not jump: it goes on from where it is. @throws LabError USAGE where time is not the lab's */
  setSpeed(factor: number): Promise<void>;
  /** The trace of a part of the environment: `node-1`. @returns undefined: no part has this name */
  output(name: string): CommandResult | undefined;
  /**
   * Does what no command does: see `injection-names.ts`.
   * @throws LabError USAGE on a cluster that is not the embedded one
   */
  inject(name: string, args: InjectionArguments, signal: AbortSignal): Promise<void>;
  /** What a learner types in another terminal to be where the lab is, one line each. */
  readonly elsewhere: readonly string[];
}
