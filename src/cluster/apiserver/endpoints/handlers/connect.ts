import { resourceNotServed } from "../../../../staging/apimachinery/errors.js";
import type { Connecter } from "../connect.js";
import type { Exchange } from "../exchange.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/** Finds the handler of a streaming request (a log, exec, proxy), if the path names one. */
export function connecterOf({ connecters }: HandlerDeps, { route, subresource }: Target): Connecter | undefined {
  return subresource === undefined ? undefined : connecters.get(`${route.qualified}/${subresource.name}`);
}

/** Mirrors ConnectResource in k8s.io/apiserver/pkg/endpoints/handlers/rest.go. */
export async function connect(
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
