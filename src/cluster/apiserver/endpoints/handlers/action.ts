import type { KubeList, KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { methodNotAllowed, statusError } from "../../../../staging/apimachinery/errors.js";
import type { KindRef } from "../../../../staging/apimachinery/scheme/schema.js";
import type { ActionHandler } from "../../registry/rest/action.js";
import { decodeInto } from "../decode.js";
import type { Exchange } from "../exchange.js";
import { negotiate } from "../media-types.js";
import { writeOptions } from "../options.js";
import { readBody } from "../read-body.js";
import { writeBody, writeStatus } from "../responsewriters/answer.js";
import type { Target } from "../routes.js";
import type { HandlerDeps } from "./deps.js";

/** Finds the handler of a request that is not a plain read or write, if there is one. */
export function actionHandler(deps: HandlerDeps, method: string, target: Target): ActionHandler | undefined {
  const { qualified } = target.route;
  const path = target.subresource === undefined ? qualified : `${qualified}/${target.subresource.name}`;
  return deps.actions.get(`${method} ${path}`);
}

/** Handles a review, a binding, an eviction or a token request. */
export async function runAction(
  deps: HandlerDeps,
  exchange: Exchange,
  target: Target,
  handler: ActionHandler,
): Promise<void> {
  const { definition } = target.route;
  const isReview = definition.virtual === true && definition.table === undefined;
  const shown = negotiate(exchange.accept, isReview || target.subresource?.kind !== undefined ? "review" : "object");
  const kind = kindOf(target);
  const answer = await handler({
    context: exchange.context(),
    registry: deps.registry,
    namespace: target.namespace,
    name: target.name,
    body: await bodyOf(exchange, kind),
    query: exchange.query,
  });
  if (answer.code === 204) return writeBody(exchange, 204, "", undefined);
  const { body } = answer;
  if (body.kind === "Status") {
    return writeStatus(exchange, { ...(body as Parameters<typeof writeStatus>[1]), code: answer.code });
  }
  if (isList(body)) return deps.presenter.list(exchange, definition, body, shown);
  await deps.presenter.object(exchange, answer.code, definition, body as KubeObject, shown);
}

function isList(body: unknown): body is KubeList {
  return Array.isArray((body as { readonly items?: unknown }).items);
}

async function bodyOf(exchange: Exchange, kind: KindRef): Promise<KubeObject | undefined> {
  if (exchange.method === "GET") return undefined;
  const options = writeOptions(exchange.query, "CreateOptions");
  const bytes = await readBody(exchange);
  return decodeInto(exchange, bytes, kind, options.fieldValidation);
}

function kindOf({ route: { definition }, subresource }: Target): KindRef {
  if (subresource?.kind === undefined) return definition;
  const { kind, group = definition.group, version = definition.version, olderVersions = [] } = subresource;
  return { group, version, kind, schema: kind, olderVersions };
}

/** Refuses a path of the resource table that is not implemented yet, instead of inventing a response. */
export function notImplemented(exchange: Exchange, target: Target): never {
  if (target.subresource === undefined) throw methodNotAllowed();
  const what = `${exchange.method} of ${target.route.qualified}/${target.subresource.name}`;
  throw statusError(501, "NotImplemented", `${what} is not implemented by this embedded API server`);
}
