import { type CachedStatus, PodCache } from "../../src/kubelet/container/cache.js";
import type { PodStatus } from "../../src/kubelet/container/runtime.js";
import { differences, type GoldenLine } from "./golden.js";

interface CacheOp {
  readonly op: "set" | "updateTime" | "delete" | "get" | "getNewerThan";
  readonly pod?: string;
  readonly value?: string;
  readonly error?: string;
  readonly time?: number;
  readonly waiter?: string;
  readonly minTime?: number;
  readonly minTimeZero?: boolean;
  readonly expect: {
    readonly result?: unknown;
    readonly unblocked?: readonly { readonly waiter: string; readonly result: unknown }[] | null;
    readonly waiting?: readonly string[] | null;
  };
}

/** A scenario of podcache/*.jsonl. */
export interface CacheScenario extends GoldenLine {
  readonly ops: readonly CacheOp[];
}

interface Release {
  readonly waiter: string;
  readonly result: unknown;
}

/** Plays a scenario through PodCache. @returns where it differs from the real one */
export async function replayCache(scenario: CacheScenario): Promise<string[]> {
  const cache = new PodCache();
  const waiting = new Set<string>();
  const unblocked: Release[] = [];
  const found: string[] = [];
  for (const [i, op] of scenario.ops.entries()) {
    const result = run(cache, op, waiting, unblocked);
    // Whoever is released runs on before the next operation.
    for (let turn = 0; turn < 3; turn++) await Promise.resolve();
    const want = {
      result: op.expect.result,
      unblocked: [...(op.expect.unblocked ?? [])].sort(byWaiter),
      waiting: [...(op.expect.waiting ?? [])].sort(),
    };
    const got = { result, unblocked: unblocked.splice(0).sort(byWaiter), waiting: [...waiting].sort() };
    found.push(...differences(want, got, `ops[${i}]`));
  }
  return found;
}

function byWaiter(a: Release, b: Release): number {
  return a.waiter < b.waiter ? -1 : 1;
}

function run(cache: PodCache, op: CacheOp, waiting: Set<string>, unblocked: Release[]): unknown {
  const pod = op.pod ?? "";
  switch (op.op) {
    case "set":
      cache.set(pod, statusNamed(op.value), op.error, op.time ?? 0);
      return undefined;
    case "updateTime":
      cache.updateTime(op.time ?? 0);
      return undefined;
    case "delete":
      cache.delete(pod);
      return undefined;
    case "get":
      return resultOf(cache.get(pod));
    case "getNewerThan": {
      const waiter = op.waiter ?? "";
      waiting.add(waiter);
      const minTimeMs = op.minTimeZero === true ? Number.NEGATIVE_INFINITY : (op.minTime ?? 0);
      void cache.getNewerThan(pod, minTimeMs).then((cached) => {
        waiting.delete(waiter);
        unblocked.push({ waiter, result: resultOf(cached) });
      });
      return undefined;
    }
  }
}

/** Statuses have a name only in these scenarios: the pod's name carries it. */
function statusNamed(value: string | undefined): PodStatus | undefined {
  if (value === undefined) return undefined;
  return { podUid: "", name: value, namespace: "", ips: [], containerStatuses: [], sandboxStatuses: [] };
}

function resultOf({ kind, status, error }: CachedStatus) {
  return { kind, value: kind === "default" ? undefined : status?.name, error };
}
