import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import { badRequest } from "../../../staging/apimachinery/errors.js";
import { isWebSocketRequest, offeredSubprotocols, V5 } from "../../../staging/streaming/websocket/subprotocols.js";
import { factFor } from "../../../util/release/facts.js";
import type { Connecter, Connecters, ConnectRequest } from "../endpoints/connect.js";
import { requireContainer, requireNode } from "../registry/core/pods/streams.js";
import type { ProxyDeps } from "./deps.js";
import { isRead, rawQuery, splitOf } from "./go-url.js";
import { logConnecter } from "./log.js";
import { requireUpgrade, tunnelledProtocols } from "./offered.js";
import { proxyPlain, redirectToSlash } from "./plain.js";
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
    ["services/proxy", serviceProxyConnecter(deps)],
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

/** Loaded on first use, as all that follows. */
function podProxyConnecter(deps: ProxyDeps): Connecter {
  return async (request) => (await import("./pod-proxy.js")).proxyToPodName(deps, request);
}

function serviceProxyConnecter(deps: ProxyDeps): Connecter {
  return async (request) => (await import("./pod-proxy.js")).proxyToService(deps, request);
}

/** Loaded on first use: most clusters never need this code, so it must not delay their start. */
async function upgradeProxy(): Promise<typeof proxyUpgrade> {
  return (await import("./upgrade.js")).proxyUpgrade;
}

function podOf({ registry, namespace, name }: ConnectRequest): Promise<KubeObject> {
  return registry.store("pods").get(namespace, name);
}
