import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";
import type { Random } from "../../util/random.js";
import { NEWEST_RELEASE, OLDEST_RELEASE } from "../../util/release/facts.js";
import type { Target } from "./target.js";

/**
 * The release of a target in the table of facts: an embedded cluster knows it, a real one is asked.
 * @returns `1.25` ... `1.34`: the nearest that the table has
 * @throws LabError as KubeClient.expect
 */
export async function releaseOf(
  target: Target,
  deps: { readonly trace: Trace; readonly clock: Clock; readonly random: Random },
): Promise<string> {
  if (target.kind !== "real") return target.kubeVersion;
  await using client = createClient(target.admin, { ...deps, actor: "user" });
  const version = await client.expect<{ readonly gitVersion?: string }>({ method: "GET", path: "/version" });
  const { gitVersion = "" } = version;
  const release = nearestRelease(gitVersion);
  const text = `The cluster says that it is ${gitVersion}: constants are quoted from v${release}.`;
  deps.trace.emit({ kind: "note", text }, { actor: "apiserver" });
  return release;
}

/** `v1.28.3+k3s1` → `1.28`; a release before or after the table becomes its first or last, an unreadable one its first. */
export function nearestRelease(gitVersion: string): string {
  const minor = Number(/^v?1\.(\d+)/.exec(gitVersion)?.[1] ?? minorOf(OLDEST_RELEASE));
  return `1.${Math.min(Math.max(minor, minorOf(OLDEST_RELEASE)), minorOf(NEWEST_RELEASE))}`;
}

function minorOf(release: string): number {
  return Number(release.split(".")[1]);
}
