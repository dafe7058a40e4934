import { defined } from "../../util/defined.js";
import type { FsStats, MemoryStats, Summary } from "../apis/stats/v1alpha1.js";
import type { Signal } from "./threshold.js";

/** What was measured for a signal: bytes, inodes or processes. Mirrors signalObservation. */
export interface Observation {
  readonly available: number;
  readonly capacity: number;
  /** Unix ms of the measurement */
  readonly timeMs?: number;
}

/** A signal without an entry was not measured. */
export type Observations = ReadonlyMap<Signal, Observation>;

/** Mirrors makeSignalObservations in pkg/kubelet/eviction/helpers.go. Pure. */
export function makeSignalObservations({ node }: Summary): Observations {
  const { memory, fs, runtime, rlimit, systemContainers = [] } = node;
  const imageFs = runtime?.imageFs;
  const pods = systemContainers.find(({ name }) => name === "pods");
  const all: readonly (readonly [Signal, Observation | undefined])[] = [
    ["memory.available", ofMemory(memory)],
    ["allocatableMemory.available", ofMemory(pods?.memory)],
    ["nodefs.available", ofBytes(fs)],
    ["nodefs.inodesFree", ofInodes(fs)],
    ["imagefs.available", ofBytes(imageFs)],
    ["imagefs.inodesFree", ofBytes(imageFs) && ofInodes(imageFs)],
    ["pid.available", ofProcesses(rlimit)],
  ];
  return new Map(all.flatMap(([signal, observed]) => (observed === undefined ? [] : [[signal, observed] as const])));
}

function ofMemory(memory: MemoryStats | undefined): Observation | undefined {
  const { availableBytes, workingSetBytes, timeMs } = memory ?? {};
  if (availableBytes === undefined || workingSetBytes === undefined) return undefined;
  return { available: availableBytes, capacity: availableBytes + workingSetBytes, ...defined({ timeMs }) };
}

function ofBytes(fs: FsStats | undefined): Observation | undefined {
  const { availableBytes, capacityBytes, timeMs } = fs ?? {};
  if (availableBytes === undefined || capacityBytes === undefined) return undefined;
  return { available: availableBytes, capacity: capacityBytes, ...defined({ timeMs }) };
}

function ofInodes(fs: FsStats | undefined): Observation | undefined {
  const { inodesFree, inodes, timeMs } = fs ?? {};
  if (inodesFree === undefined || inodes === undefined) return undefined;
  return { available: inodesFree, capacity: inodes, ...defined({ timeMs }) };
}

function ofProcesses(rlimit: Summary["node"]["rlimit"]): Observation | undefined {
  const { maxpid, curproc, timeMs } = rlimit ?? {};
  if (maxpid === undefined || curproc === undefined) return undefined;
  return { available: maxpid - curproc, capacity: maxpid, ...defined({ timeMs }) };
}
