import type { ReportStage } from "../registry/rest/stages.js";
import type { Exchange } from "./exchange.js";
import type { Target } from "./routes.js";

const UPSTREAM = {
  file: "staging/src/k8s.io/apiserver/pkg/endpoints/installer.go",
  func: "registerResourceHandlers",
};
/** By verb: functions of staging/src/k8s.io/apiserver/pkg/endpoints/handlers. */
const HANDLERS: Readonly<Record<string, string>> = {
  get: "GetResource",
  list: "ListResource",
  watch: "ListResource",
  create: "CreateResource",
  update: "UpdateResource",
  patch: "PatchResource",
  delete: "DeleteResource",
  deletecollection: "DeleteCollection",
};

/**
 * Reports which handler and which storage the path of a request has.
 * @param connects the subresource takes over the connection: exec, log, proxy
 */
export function reportRoute(report: ReportStage, { method }: Exchange, target: Target, connects: boolean): void {
  const { route, subresource, verb, name } = target;
  const { resource, namespaced, group, version } = route.definition;
  const sub = subresource === undefined ? [] : [subresource.name];
  const storage = [resource, ...sub].join("/");
  const below = [resource, ...(name === undefined ? [] : ["{name}"]), ...sub];
  const where = namespaced && target.namespace !== undefined ? ["namespaces", "{namespace}"] : [];
  const root = group === "" ? ["api", version] : ["apis", group, version];
  const path = `/${[...root, ...where, ...below].join("/")}`;
  const named = verb === "create" && name !== undefined ? "CreateNamedResource" : HANDLERS[verb];
  const handler = connects ? "ConnectResource" : (named ?? verb);
  const what = `route ${method} ${path} to ${handler} of storage ${storage}`;
  report({ what, why: "", upstream: UPSTREAM, isName: true });
}
