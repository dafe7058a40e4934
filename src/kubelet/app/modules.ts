import { orAborted } from "../../util/async/concurrency.js";
import { durationText } from "../../util/release/fact.js";
import { openPodResources } from "../server/pod-resources.js";
import { startGarbageCollection } from "../sync/garbage-collection.js";
import type { Kubelet } from "./kubelet.js";

export type Loop = (signal: AbortSignal) => Promise<void>;

/** A part of the kubelet that runs until its signal aborts. */
export interface KubeletModule {
  readonly name: string;
  /** the function upstream that starts it */
  readonly func: string;
  /** what it does, and at which period or because of what: `relisting every 1 s` */
  readonly when: string;
  readonly loops: readonly Loop[];
  /** upstream's file; default: pkg/kubelet/kubelet.go */
  readonly file?: string;
  /** this kubelet has no such part, and `when` is the reason */
  readonly isAbsent?: boolean;
}

/** What only a kubelet's run has. */
export interface RunLoops {
  /** heartbeats, Lease and the renewal of the client certificate, from the registration on */
  readonly keepNode: Loop;
  /** renews the serving certificate; undefined: the server signed its own */
  readonly rotate: Loop | undefined;
}

/** The parts by the moment of their start. */
export interface KubeletModules {
  /** what a kubelet is made from */
  readonly dependencies: readonly KubeletModule[];
  /** what the constructor starts, before BirthCry */
  readonly made: readonly KubeletModule[];
  readonly running: readonly KubeletModule[];
  /** what the first successful check of the runtime starts */
  readonly runtimeDependent: readonly KubeletModule[];
}

/** @param func the function upstream that starts it */
export function part(func: string, name: string, when: string, ...loops: Loop[]): KubeletModule {
  return { name, func, when, loops };
}

/** A part of upstream's kubelet that this one does not have. @param when the reason: `because no cloud runs this machine` */
export function absent(func: string, name: string, when: string): KubeletModule {
  return { name, func, when, loops: [], isAbsent: true };
}

export function every(ms: number): string {
  return `every ${durationText(ms)}`;
}

export function collectGarbage(kubelet: Kubelet, signal: AbortSignal): Promise<void> {
  const { deps, containerGc, imageGc } = kubelet;
  const { trace, clock, agent } = deps;
  const images = collectsImages(kubelet) ? { imageGc } : {};
  return startGarbageCollection({ trace, clock, agent, containerGc, ...images }, signal);
}

export async function servePodResources(
  { ctx, metrics, podManager, deviceManager, options }: Kubelet,
  signal: AbortSignal,
) {
  const { trace } = ctx;
  await using _server = await openPodResources({ trace, metrics, podManager, deviceManager }, options.rootDir);
  await orAborted(new Promise<never>(() => {}), signal);
}

/** A high threshold of 100 % turns the collection of images off. */
export function collectsImages({ imageGc }: Kubelet): boolean {
  return imageGc.policy.highThresholdPercent !== 100;
}

export function loopsOf(modules: readonly KubeletModule[]): KubeletModule["loops"] {
  return modules.flatMap(({ loops }) => loops);
}
