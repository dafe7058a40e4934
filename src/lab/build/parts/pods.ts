import { emptyStatus, PodCache } from "../../../kubelet/container/cache.js";
import type { PodStatus } from "../../../kubelet/container/runtime.js";
import { rankPods } from "../../../kubelet/eviction/ranking.js";
import { orAborted } from "../../../util/async/concurrency.js";
import type { RunParts } from "../../chaos/stage.js";
import { call, changed, make, replace, type Written } from "./part.js";

/** The phase of each pod. */
export function getPhase(written: Written): RunParts {
  return written === undefined
    ? {}
    : { hooks: { getPhase: (spec, statuses) => call(written, "getPhase", spec, statuses) } };
}

/** What PLEG makes of two lists. */
export function generateEvents(written: Written): RunParts {
  if (written === undefined) return {};
  return { hooks: { generateEvents: (ref, before, after) => call(written, "generateEvents", ref, before, after) } };
}

/** The back-off of containers; that of images stays kubelab's. */
export function backOff(written: Written): RunParts {
  return changed(written, (module, { deps, backOff: own }) => {
    const yours = make(module, "Backoff", { now: () => deps.clock.now() }, own.options);
    replace(own, {
      get: (id) => call(yours, "get", id),
      next: (id, eventTimeMs) => call(yours, "next", id, eventTimeMs),
      isInBackOffSince: (id, eventTimeMs) => call(yours, "isInBackOffSince", id, eventTimeMs),
    });
  });
}

/** What the learner's cache gives. */
interface Answer {
  readonly status?: PodStatus;
  readonly error?: unknown;
}

/** The cache where pod workers wait for PLEG. kubelab's own is filled too: inspectors list it. */
export function podCache(written: Written): RunParts {
  return changed(written, (module, { podCache: own }) => {
    const yours = make(module, "PodCache");
    const { get, set, delete: remove, updateTime } = PodCache.prototype;
    const cached = (podUid: string, { status, error }: Answer) => {
      const entry = Reflect.apply(get, own, [podUid]);
      return { ...entry, status: status ?? emptyStatus(podUid).status, error };
    };
    replace(own, {
      get: (podUid) => cached(podUid, call(yours, "get", podUid)),
      set: (...args) => {
        call<void>(yours, "set", ...args);
        return Reflect.apply(set, own, args);
      },
      delete: (podUid) => {
        call<void>(yours, "delete", podUid);
        Reflect.apply(remove, own, [podUid]);
      },
      updateTime: (timeMs) => {
        call<void>(yours, "updateTime", timeMs);
        Reflect.apply(updateTime, own, [timeMs]);
      },
      getNewerThan: async (podUid, minTimeMs, signal) => {
        const waiting = call<Promise<Answer>>(yours, "getNewerThan", podUid, minTimeMs);
        own.options.onWait?.();
        return cached(podUid, await (signal === undefined ? waiting : orAborted(waiting, signal)));
      },
    });
  });
}

/** Which pod goes first when memory is short. */
export function eviction(written: Written): RunParts {
  if (written === undefined) return {};
  const rank: typeof rankPods = (signal, hasDedicatedImageFs, pods, statsOf) => {
    const measured = rankPods(signal, hasDedicatedImageFs, pods, statsOf);
    if (signal !== "memory.available") return measured;
    const short = measured.map(({ pod, priority, request, usage }) => {
      const own = { name: pod.metadata.name, priority, request };
      return usage === undefined ? own : { ...own, usage };
    });
    const names = call<readonly string[]>(written, "rankMemoryPressure", short);
    return names.flatMap((name) => measured.find(({ pod }) => pod.metadata.name === name) ?? []);
  };
  return { hooks: { rankPods: rank } };
}
