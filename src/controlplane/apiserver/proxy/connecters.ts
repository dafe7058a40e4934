import type { V1Pod } from "@kubernetes/client-node";
import type { KubeObject } from "../../../apimachinery/api/meta.js";
import { badRequest } from "../../../apimachinery/errors.js";
import type { Wire } from "../../../apimachinery/wire.js";
import { factFor } from "../../../release/facts.js";
import { connectionRefused } from "../../../server/proxy/go-errors.js";
import { isWebSocketRequest, offeredSubprotocols, V5 } from "../../../streaming/websocket/subprotocols.js";
import { isLoopback } from "../../../util/local-address.js";
import { requireContainer, requireNode } from "../../registry/resources/pods/streams.js";
import type { Connecter, Connecters, ConnectRequest } from "../connect.js";
import type { ProxyDeps } from "./deps.js";
import { joinHostPort, type SchemeNamePort, splitSchemeNamePort } from "./go-url.js";
import { logConnecter } from "./log.js";
import { requireUpgrade, tunnelledProtocols } from "./offered.js";
import { proxyPlain, redirectToSlash, unreachable } from "./plain.js";
import { portForwardPath, streamPath } from "./pod-locations.js";
import type { proxyUpgrade } from "./upgrade.js";

/** All subresources that proxy to a kubelet. Mirrors pkg/registry/core/{pod,node}/rest. */
export function createConnecters(deps: ProxyDeps): Connecters {
  return new Map<string, Connecter>([
    ["pods/log", logConnecter(deps)],
    ["pods/exec", streamConnecter(deps, "exec")],
    ["pods/attach", streamConnecter(deps, "attach")],
    ["pods/portforward", portForwardConnecter(deps)],
    ["pods/proxy", podProxyConnecter(deps)],
    ["nodes/proxy", nodeProxyConnecter(deps)],
  ]);
}

/** Mirrors ExecREST and AttachREST in pkg/registry/core/pod/rest/subresources.go. */
function streamConnecter(deps: ProxyDeps, verb: "exec" | "attach"): Connecter {
  const isTranslated = factFor("translateStreamCloseWebsocketRequests", deps.kubeVersion);
  return async (request) => {
    const { exchange, registry, signal } = request;
    const pod = await podOf(request);
    const container = requireContainer(pod, exchange.query.get("container") ?? "");
    const info = await deps.connections.infoFor(registry, requireNode(pod));
    const target = { info, path: streamPath(verb, pod, container, exchange.query) };
    requireUpgrade(exchange);
    const isV5 = isWebSocketRequest(exchange.request) && offeredSubprotocols(exchange.request).includes(V5);
    const proxy = isTranslated && isV5 ? (await import("./translate.js")).translateToSpdy : await upgradeProxy();
    await proxy(deps, exchange, target, signal);
  };
}

/** Mirrors PortForwardREST in pkg/registry/core/pod/rest/subresources.go. */
function portForwardConnecter(deps: ProxyDeps): Connecter {
  const isTunnelled = factFor("portForwardWebsockets", deps.kubeVersion);
  return async (request) => {
    const { exchange, registry, signal } = request;
    const pod = await podOf(request);
    const nodeName = requireNode(pod);
    const path = portForwardPath(pod, exchange.query);
    const target = { info: await deps.connections.infoFor(registry, nodeName), path };
    requireUpgrade(exchange);
    const isTunnel = isWebSocketRequest(exchange.request) && tunnelledProtocols(exchange.request).length > 0;
    const proxy = isTunnelled && isTunnel ? (await import("./tunnel.js")).proxyTunnel : await upgradeProxy();
    await proxy(deps, exchange, target, signal);
  };
}

/** Mirrors ResourceLocation in pkg/registry/core/node/strategy.go. */
function nodeProxyConnecter(deps: ProxyDeps): Connecter {
  return async ({ exchange, registry, name, subpath, signal }) => {
    const { name: nodeName, port } = splitOf(name, "node");
    const info = await deps.connections.infoFor(registry, nodeName);
    // Differs: only the kubelet's port is reachable; upstream refuses other ports only on its own machine.
    if (port !== "" && port !== String(info.port)) throw badRequest("address not allowed");
    const target = { info, path: `${subpath === "" ? "/" : subpath}${rawQuery(exchange.request.url)}` };
    if (exchange.upgrade !== undefined) await (await upgradeProxy())(deps, exchange, target, signal);
    else if (subpath === "" && isRead(exchange.method)) redirectToSlash(exchange);
    else await proxyPlain(deps, exchange, target, signal);
  };
}

/**
 * Mirrors ResourceLocation in pkg/registry/core/pod/strategy.go.
 * Differs: the API server in a learner's process has no route to the pod network, so it reaches a pod through a
 * port-forward of its kubelet. For a pod without a node it reports a refused connection.
 */
function podProxyConnecter(deps: ProxyDeps): Connecter {
  return async ({ exchange, registry, namespace, name: id, subpath, signal }) => {
    const { scheme, name, port: asked } = splitOf(id, "pod");
    const pod = (await registry.store("pods").get(namespace, name)) as Wire<V1Pod>;
    const ip = pod.status?.podIPs?.[0]?.ip || pod.status?.podIP || "";
    if (ip === "" || isLoopback(ip)) throw badRequest("address not allowed");
    if (exchange.upgrade === undefined && subpath === "" && isRead(exchange.method)) return redirectToSlash(exchange);
    const port = asked === "" ? String(firstPort(pod) ?? (scheme === "https" ? 443 : 80)) : asked;
    const { nodeName = "" } = pod.spec ?? {};
    if (nodeName === "") throw unreachable(connectionRefused(joinHostPort(ip, port)));
    const info = await deps.connections.infoFor(registry, nodeName);
    const { podWay } = await import("./pod-way.js");
    const way = podWay(deps, exchange, { info, pod, ip, port, isTls: scheme === "https" });
    const target = { info, path: `${subpath === "" ? "/" : subpath}${rawQuery(exchange.request.url)}`, pod: way };
    if (exchange.upgrade !== undefined) await (await upgradeProxy())(deps, exchange, target, signal);
    else await proxyPlain(deps, exchange, target, signal);
  };
}

/** Loaded on first use: most clusters never need this code, so it must not delay their start. */
async function upgradeProxy(): Promise<typeof proxyUpgrade> {
  return (await import("./upgrade.js")).proxyUpgrade;
}

function podOf({ registry, namespace, name }: ConnectRequest): Promise<KubeObject> {
  return registry.store("pods").get(namespace, name);
}

function splitOf(id: string, what: string): SchemeNamePort {
  const split = splitSchemeNamePort(id);
  if (split === undefined) throw badRequest(`invalid ${what} request ${JSON.stringify(id)}`);
  return split;
}

function firstPort({ spec }: Wire<V1Pod>): number | undefined {
  return spec?.containers?.find(({ ports }) => ports?.[0])?.ports?.[0]?.containerPort;
}

function rawQuery(url = ""): string {
  const question = url.indexOf("?");
  return question < 0 ? "" : url.slice(question);
}

function isRead(method: string): boolean {
  return method === "GET" || method === "HEAD";
}
