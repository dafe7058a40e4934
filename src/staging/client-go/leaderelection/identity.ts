import { hostname } from "node:os";

/** The name of a candidate: `HOST_ID`. Mirrors the id in makeLeaderElectionConfig in cmd/kube-scheduler/app/options/options.go. */
export function electionIdentity(id: string): string {
  return `${hostname()}_${id}`;
}
