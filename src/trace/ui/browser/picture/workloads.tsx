import { kindOf } from "../message-name.js";
import type { Picture } from "../state.js";
import type { Cluster } from "./cluster.js";
import { podStatus, SIGNS } from "./status.js";

/** The most pods of one owner that are named. */
const MAX_PODS = 6;
/** From the first owner to the last one. */
const ORDER = ["cronjobs", "deployments", "jobs", "statefulsets", "daemonsets", "replicasets"];

interface Owner {
  readonly key: string;
  readonly resource: string;
  /** `default/web` */
  readonly name: string;
}

/** Deployments, ReplicaSets and Pods as a tree with names. Controllers name what they create after its owner. */
export function Workloads({ cluster, ever }: Pick<Picture, "cluster" | "ever">) {
  const owners = [...ever.workloads]
    .map((key): Owner => {
      const [resource = "", name = ""] = key.split(" ");
      return { key, resource, name };
    })
    .sort((a, b) => ORDER.indexOf(a.resource) - ORDER.indexOf(b.resource) || (a.name < b.name ? -1 : 1));
  if (owners.length === 0) return null;
  const roots = owners.filter((one) => ownerOf(one.name, one.resource, owners) === undefined);
  return (
    <ul class="tree" aria-label="Workloads">
      {roots.map((owner) => (
        <Branch key={owner.key} owner={owner} above="" owners={owners} cluster={cluster} ever={ever} />
      ))}
    </ul>
  );
}

interface BranchProps {
  readonly owner: Owner;
  /** the name of its own owner */
  readonly above: string;
  readonly owners: readonly Owner[];
  readonly cluster: Cluster;
  readonly ever: Cluster;
}

function Branch({ owner, above, owners, cluster, ever }: BranchProps) {
  const below = owners.filter((one) => ownerOf(one.name, one.resource, owners) === owner);
  const pods = [...ever.pods.keys()].filter((name) => ownerOf(name, "pods", owners) === owner);
  return (
    <li>
      <span class={cluster.workloads.has(owner.key) ? "" : "ghost"} title={owner.name}>
        <span class="sub">{kindOf(owner.resource)}</span> <b>{shortName(owner.name, above)}</b>
      </span>
      <ul>
        {below.map((one) => (
          <Branch key={one.key} owner={one} above={owner.name} owners={owners} cluster={cluster} ever={ever} />
        ))}
        {pods.slice(0, MAX_PODS).map((name) => {
          const pod = cluster.pods.get(name);
          const tone = pod && podStatus(pod).tone;
          return (
            <li key={name} class={tone ?? "ghost"} title={name}>
              <span class="sign-of">{tone === undefined ? "·" : SIGNS[tone]}</span> {shortName(name, owner.name)}
            </li>
          );
        })}
        {pods.length > MAX_PODS && <li class="sub">+ {pods.length - MAX_PODS}</li>}
      </ul>
    </li>
  );
}

/** Without the namespace, and without what is the name of its owner. */
function shortName(name: string, above: string): string {
  return above === "" ? name.slice(name.indexOf("/") + 1) : `…${name.slice(above.length)}`;
}

/** The owner with the longest name that the object's name begins with. */
function ownerOf(name: string, resource: string, owners: readonly Owner[]): Owner | undefined {
  const level = levelOf(resource);
  return owners
    .filter((one) => levelOf(one.resource) < level && name.startsWith(`${one.name}-`))
    .sort((a, b) => b.name.length - a.name.length)[0];
}

/** An owner is above what it owns. */
function levelOf(resource: string): number {
  return resource === "cronjobs" || resource === "deployments" ? 0 : resource === "pods" ? 2 : 1;
}
