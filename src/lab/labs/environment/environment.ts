import type { KubeClient } from "../../../staging/client-go/rest/client.js";
import type { Clock } from "../../../util/clock.js";
import type { Say } from "../../../util/i18n/sentences.js";
import type { Values } from "../format/variables.js";
import type { LabFacts } from "./facts.js";
import type { LabJump } from "./jump.js";
import type { CommandResult, CommandRunner } from "./runner.js";

export type InjectionArguments = Readonly<Record<string, string | number | boolean>>;

/** The place of a lab, for a shell in another terminal. */
export interface LabPlace {
  readonly folder: string;
  /** folder of the lab's own programs, which come first in PATH */
  readonly programs: string;
  /** environment variables */
  readonly variables: Readonly<Record<string, string>>;
}

/** The environment of a lab: a cluster, a folder, programs. */
export interface LabEnvironment extends AsyncDisposable {
  /** the lab's working folder, removed with the lab */
  readonly folder: string;
  /** as the cluster's administrator */
  readonly client: KubeClient;
  /** the lab's clock, which can run fast */
  readonly clock: Clock;
  readonly facts: LabFacts;
  /** the API server runs here, so that the facts include each write */
  readonly seesWrites: boolean;
  /** the sentences of facts in the learner's language; undefined: English */
  readonly sayFact?: Say | undefined;
  /** the wall clock */
  readonly wall: Clock;
  /** the least time that a check with a time limit waits, in ms of the wall clock: 0 for learners */
  readonly patienceMs: number;
  readonly runner: CommandRunner;
  /** `server`, `kubeconfig`, `kubeVersion`, `folder`, `onNode`; of nodes: `kubelet1`, `runtime1`, `control1`, `link1` */
  readonly given: Values;
  /** speed of the lab's clock relative to the wall clock */
  readonly speed: number;
  readonly canSetSpeed: boolean;
  /** ends waits without their real time; undefined on a real cluster, whose clock nobody holds */
  readonly jump: LabJump | undefined;
  /** Changes the speed without a jump in time. @throws LabError USAGE on a real cluster */
  setSpeed(factor: number): Promise<void>;
  /** The trace of a part of the environment, such as `node-1`. @returns undefined for an unknown name */
  output(name: string): CommandResult | undefined;
  /**
   * Performs an injection: see `injection-names.ts`.
   * @throws LabError USAGE on a cluster that is not embedded
   */
  inject(name: string, args: InjectionArguments, signal: AbortSignal): Promise<void>;
  /** for another terminal */
  readonly place: LabPlace;
}
