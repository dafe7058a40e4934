import type { V1Endpoints, V1Pod, V1Service } from "@kubernetes/client-node";
import { badRequest, type StatusError, statusError } from "../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { connectionRefused } from "../../../staging/server/proxy/go-errors.js";
import { isLoopback } from "../../../util/net/local-address.js";
import type { ConnectRequest } from "../endpoints/connect.js";
import type { ProxyDeps } from "./deps.js";
import { isRead, joinHostPort, rawQuery, splitOf } from "./go-url.js";
import { proxyPlain, redirectToSlash, unreachable } from "./plain.js";
import { podWay } from "./pod-way.js";
import { proxyUpgrade } from "./upgrade.js";

type Pod = Wire<V1Pod>;
type Endpoints = Wire<V1Endpoints>;
type Subset = NonNullable<Endpoints["subsets"]>[number];

interface Destination {
  readonly pod: Pod;
  readonly ip: string;
  /** a number, or a name that cannot be resolved */
  readonly port: string;
  readonly isTls: boolean;
}

/** Mirrors ResourceLocation in pkg/registry/core/pod/strategy.go. */
export async function proxyToPodName(deps: ProxyDeps, request: ConnectRequest): Promise<void> {
  const { registry, namespace, name: id } = request;
  const { scheme, name, port: asked } = splitOf(id, "pod");
  const pod = (await registry.store("pods").get(namespace, name)) as Pod;
  const ip = ipsOf(pod)[0] ?? "";
  if (ip === "" || isLoopback(ip)) throw badRequest("address not allowed");
  const port = asked === "" ? String(firstPort(pod) ?? (scheme === "https" ? 443 : 80)) : asked;
  await proxyToPod(deps, request, { pod, ip, port, isTls: scheme === "https" });
}

/** Mirrors ResourceLocation in pkg/registry/core/service/storage/storage.go. */
export async function proxyToService(deps: ProxyDeps, request: ConnectRequest): Promise<void> {
  const { registry, namespace, name: id } = request;
  const { scheme, name, port: asked } = splitOf(id, "service");
  const portName = /^\d+$/.test(asked) ? await portNameOf(request, name, Number(asked)) : asked;
  const { subsets } = (await registry.store("endpoints").get(namespace, name)) as Endpoints;
  if ((subsets ?? []).length === 0) throw unavailable(`no endpoints available for service ${JSON.stringify(name)}`);
  for (const subset of fromRandom(subsets ?? [], deps)) {
    const port = subset.ports?.find((one) => (one.name ?? "") === portName)?.port;
    const found = port === undefined ? undefined : await findPod(deps, request, subset);
    if (port === undefined || found === undefined) continue;
    const chosen = { ...found, port: String(port), isTls: scheme === "https" };
    const { id: causedBy } = deps.trace.emit(
      {
        kind: "decision",
        what: `proxy to pod ${namespace}/${found.pod.metadata.name} at ${joinHostPort(found.ip, port)}`,
        why: `it is one of ${subset.addresses?.length} ready endpoints of service ${namespace}/${name}`,
        upstream: { file: "pkg/registry/core/service/storage/storage.go", func: "ResourceLocation" },
      },
      { actor: "apiserver", level: 2 },
    );
    return deps.trace.because({ causedBy }, () => proxyToPod(deps, request, chosen));
  }
  throw unavailable(`no endpoints available for service ${JSON.stringify(id)}`);
}

/** Clients give the number of a port, endpoints have its name. @throws StatusError 503 */
async function portNameOf({ registry, namespace }: ConnectRequest, name: string, port: number): Promise<string> {
  const { spec } = (await registry.store("services").get(namespace, name)) as Wire<V1Service>;
  const found = spec?.ports?.find((one) => one.port === port);
  if (found !== undefined) return found.name ?? "";
  throw unavailable(`no service port ${port} found for service ${JSON.stringify(name)}`);
}

/** The pod behind an address of the subset: others could be anything. Mirrors isValidAddress. */
async function findPod(
  deps: ProxyDeps,
  { registry, namespace }: ConnectRequest,
  { addresses }: Subset,
): Promise<{ readonly pod: Pod; readonly ip: string } | undefined> {
  for (const { ip, targetRef } of fromRandom(addresses ?? [], deps)) {
    if (targetRef?.name === undefined || targetRef.namespace !== namespace) continue;
    const pod = (await registry
      .store("pods")
      .get(namespace, targetRef.name)
      .catch(() => undefined)) as Pod | undefined;
    if (pod !== undefined && ipsOf(pod).includes(ip)) return { pod, ip };
  }
  return undefined;
}

/**
 * Differs: the API server in a learner's process has no route to the pod network, so it reaches a pod through a
 * port-forward of its kubelet. For a pod without a node it reports a refused connection.
 */
async function proxyToPod(deps: ProxyDeps, request: ConnectRequest, to: Destination): Promise<void> {
  const { exchange, registry, subpath, signal } = request;
  const { pod, ip, port, isTls } = to;
  if (exchange.upgrade === undefined && subpath === "" && isRead(exchange.method)) return redirectToSlash(exchange);
  const { nodeName = "" } = pod.spec ?? {};
  if (nodeName === "") throw unreachable(connectionRefused(joinHostPort(ip, port)));
  const info = await deps.connections.infoFor(registry, nodeName);
  const way = podWay(deps, exchange, { info, pod, ip, port, isTls });
  const target = { info, path: `${subpath === "" ? "/" : subpath}${rawQuery(exchange.request.url)}`, pod: way };
  if (exchange.upgrade !== undefined) await proxyUpgrade(deps, exchange, target, signal);
  else await proxyPlain(deps, exchange, target, signal);
}

function ipsOf({ status }: Pod): string[] {
  const ips = (status?.podIPs ?? []).map(({ ip = "" }) => ip);
  return [...ips, status?.podIP ?? ""].filter((ip) => ip !== "");
}

function firstPort({ spec }: Pod): number | undefined {
  return spec?.containers?.find(({ ports }) => ports?.[0])?.ports?.[0]?.containerPort;
}

function unavailable(message: string): StatusError {
  return statusError(503, "ServiceUnavailable", message);
}

/** All, in their order, from a random one on. */
function fromRandom<T>(list: readonly T[], { random }: ProxyDeps): T[] {
  const start = Math.floor(random.float() * list.length);
  return [...list.slice(start), ...list.slice(0, start)];
}
