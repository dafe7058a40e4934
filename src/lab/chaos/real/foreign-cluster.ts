import { basename } from "node:path";
import type { ServerFaults } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import type { RestConfig } from "../../../staging/client-go/rest/client.js";
import { NODES, objectPath } from "../../../staging/client-go/rest/paths.js";
import { PROXY_IDENTITY_PATHS } from "../../../testbed/node/proxy-identity.js";
import { nearestRelease } from "../../../testbed/target/server-release.js";
import type { Ctx } from "../../../trace/ctx.js";
import type { Disposables } from "../../../util/async/disposables.js";
import { LabError } from "../../../util/errors.js";
import type { Say } from "../../../util/i18n/catalogue.js";
import { markOf } from "../../../util/os/processes.js";
import { pathOf, resourceOf } from "../../kubectl/resources.js";
import type { LabProcess } from "../../labs/environment/context.js";
import { flagsOf, type OwnCluster, type RealTarget } from "../../labs/environment/own/cluster.js";
import { OwnObjects } from "../../labs/environment/own/objects.js";
import { refuseOrphanedObjects } from "../../labs/environment/own/orphaned-objects.js";
import { OwnNote } from "../../labs/environment/own/record.js";
import { hasServices, type Scenario } from "../scenario.js";
import { openApiProxy } from "./api-proxy.js";

/** Where every API server publishes the CAs of its clients. */
const CLIENT_CA = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";

/** A cluster whose API server is not kubelab's. */
export interface ForeignCluster {
  readonly context: LabProcess;
  readonly target: RealTarget;
  readonly say: Say;
  readonly cluster: OwnCluster;
}

/** What the nodes of a scenario get to know of a foreign cluster. */
export interface OpenedCluster {
  /** the administrator's, through the proxy */
  readonly admin: RestConfig;
  readonly description: string;
  /** `1.25`: the release of its nodes */
  readonly kubeVersion: string;
}

/**
 * Opens the proxy before a foreign API server. Notes the objects of the scenario, none of which may exist, to remove them at its end.
 * @param folder of the scenario, whose name is unique
 * @param open closes the proxy, and removes the objects
 * @throws LabError FORBIDDEN, REFUSED for an administrator who may not read what the proxy needs; FAILED for an object that exists
 */
export async function openForeignCluster(
  ctx: Ctx & { readonly faults: ServerFaults },
  foreign: ForeignCluster,
  scenario: Scenario,
  folder: string,
  open: Disposables,
): Promise<OpenedCluster> {
  const { cluster, context } = foreign;
  const { signal } = context;
  const { client, config, contextName } = cluster;
  const { gitVersion = "" } = await client.expect<{ readonly gitVersion?: string }>({
    method: "GET",
    path: "/version",
    signal,
  });
  const { data } = await client.expect<{ readonly data?: Readonly<Record<string, string>> }>({
    method: "GET",
    path: CLIENT_CA,
    signal,
  });
  const clientCaPem = data?.["client-ca-file"];
  if (clientCaPem === undefined) {
    throw new LabError(
      "REFUSED",
      `${config.server} accepts no client certificates: its ConfigMap extension-apiserver-authentication has no client-ca-file`,
      "A node needs one to join. Run the scenario without --kubeconfig.",
    );
  }
  await claimObjects(ctx, foreign, scenario, folder, open);
  const text = `chaos runs a proxy before ${gitVersion} at ${config.server}`;
  ctx.trace.emit({ kind: "note", text }, { actor: "apiserver", level: 1 });
  const proxy = await openApiProxy(ctx, ctx.faults, { config, clientCaPem });
  open.defer(() => proxy.close());
  return { admin: proxy.admin, description: contextName, kubeVersion: nearestRelease(gitVersion) };
}

async function claimObjects(
  { clock: wall }: Ctx,
  { context, target, say, cluster }: ForeignCluster,
  scenario: Scenario,
  folder: string,
  open: Disposables,
): Promise<void> {
  const { client, identity, contextName, config } = cluster;
  const { objects, nodes } = scenario;
  const paths = Array.from({ length: nodes }, (_, i) => objectPath(NODES, `node-${i + 1}`));
  for (const object of objects) {
    const known = await resourceOf(client, object, context.signal);
    const { name, namespace = "default" } = object.metadata;
    paths.push(`${pathOf(known, namespace)}/${encodeURIComponent(name)}`);
  }
  if (hasServices(scenario)) {
    for (const path of PROXY_IDENTITY_PATHS) {
      const { status } = await client.request({ method: "GET", path, signal: context.signal });
      if (status === 404) paths.push(path);
    }
  }
  await refuseOrphanedObjects({ context, say, wall }, cluster, target, paths);
  const claim = {
    lab: "chaos",
    cluster: identity,
    context: contextName,
    server: config.server,
    flags: flagsOf(context, target),
    pid: process.pid,
    mark: await markOf(process.pid),
    paths,
  };
  const note = new OwnNote(context.env, wall, basename(folder));
  const claimed = await OwnObjects.claim({ client, wall, say }, claim, note, context.signal);
  claimed.follow();
  open.defer(async () => {
    for (const what of await claimed.remove()) context.notice(say("notCleaned", { what }));
  });
}
