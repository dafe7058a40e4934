import { methodNotAllowed, resourceNotServed } from "../../../../staging/apimachinery/errors.js";
import type { Connecter } from "../connect.js";
import type { Exchange } from "../exchange.js";
import { LIST_TYPES, OBJECT_TYPES, requireAcceptable } from "../media-types.js";
import { isTrue } from "../request-info.js";
import { reportRoute } from "../route-report.js";
import type { Target } from "../routes.js";
import { actionHandler, notImplemented, runAction } from "./action.js";
import type { HandlerDeps } from "./deps.js";
import { patchObject, requirePatchType } from "./patch.js";
import { getObject, listObjects } from "./reads.js";
import { isScale, scale } from "./scale.js";
import { watchObjects } from "./watch.js";
import { createObject, deleteCollection, deleteObject, updateObject } from "./writes.js";

/** Logs are also available as text; streaming subresources set their own type. */
const ANYTHING = new Set(["exec", "attach", "portforward", "proxy"]);
const LOG_TYPES = ["text/plain", ...OBJECT_TYPES];

/** Dispatches a parsed request to its handler. */
export function dispatch(deps: HandlerDeps, exchange: Exchange, target: Target): Promise<void> {
  const { method } = exchange;
  const { deprecationWarning } = target.route.definition;
  if (deprecationWarning !== undefined) exchange.warnings.push(deprecationWarning);
  const connecter = connecterOf(deps, target);
  if (exchange.report !== undefined) reportRoute(exchange.report, exchange, target, connecter !== undefined);
  // A connection takes any type: the pod or node behind it decides.
  if (method === "PATCH" && connecter === undefined) requirePatchType(exchange, target.route.definition);
  requireTargetAcceptable(exchange, target);
  if (connecter !== undefined) return connect(deps, exchange, target, connecter);
  if (isScale(target)) return scale(deps, exchange, target);
  const action = actionHandler(deps, method, target);
  if (action !== undefined) return runAction(deps, exchange, target, action);
  const { virtual, computed } = target.route.definition;
  if (virtual === true && computed !== true) notImplemented(exchange, target);
  if (target.subresource !== undefined && target.subresource.strategy === undefined) {
    // A status subresource without a strategy is served like its object. Connections (exec, proxy) are not served here.
    if (target.subresource.kind !== undefined) notImplemented(exchange, target);
  }
  return plainHandler(exchange, target)(deps, exchange, target);
}

function plainHandler(exchange: Exchange, target: Target): typeof getObject {
  switch (exchange.method) {
    case "GET":
      if (target.verb === "watch" && (target.name === undefined || exchange.info.isWatchPath)) return watchObjects;
      if (target.name !== undefined) return getObject;
      return isTrue(exchange.query, "watch") ? watchObjects : listObjects;
    case "POST":
      return createObject;
    case "PUT":
      return updateObject;
    case "PATCH":
      return patchObject;
    case "DELETE":
      return target.name === undefined ? deleteCollection : deleteObject;
    default:
      throw methodNotAllowed();
  }
}

function requireTargetAcceptable(exchange: Exchange, { subresource, name }: Target): void {
  if (subresource !== undefined && ANYTHING.has(subresource.name)) return;
  const isCollection = name === undefined && exchange.method === "GET";
  const types = subresource?.name === "log" ? LOG_TYPES : isCollection ? LIST_TYPES : OBJECT_TYPES;
  requireAcceptable(exchange.accept, types);
}

/** Finds the handler of a streaming request (a log, exec, proxy), if the path names one. */
function connecterOf({ connecters }: HandlerDeps, { route, subresource }: Target): Connecter | undefined {
  return subresource === undefined ? undefined : connecters.get(`${route.qualified}/${subresource.name}`);
}

/** Mirrors ConnectResource in k8s.io/apiserver/pkg/endpoints/handlers/rest.go. */
async function connect(
  deps: HandlerDeps,
  exchange: Exchange,
  { namespace, name }: Target,
  connecter: Connecter,
): Promise<void> {
  if (name === undefined) throw resourceNotServed();
  const { registry, closing } = deps;
  const [, , , ...below] = exchange.info.parts;
  const isFolder = exchange.info.path.endsWith("/");
  const path = below.map((segment) => `/${encodeURIComponent(segment)}`).join("");
  const subpath = isFolder ? `${path}/` : path;
  await connecter({ exchange, registry, namespace, name, subpath, signal: exchange.abortSignal(closing) });
}
