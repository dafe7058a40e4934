/** The endpoints of the server. */
export type RouteName =
  | "healthz"
  | "metrics"
  | "resourceMetrics"
  | "configz"
  | "disabled"
  | "debuggingDisabled"
  | "logs"
  | "pods"
  | "runningpods"
  | "stats"
  | "run"
  | "exec"
  | "attach"
  | "portForward"
  | "containerLogs";

export type RouteMatch =
  | { readonly kind: "found"; readonly name: RouteName; readonly params: Readonly<Record<string, string>> }
  /** no handler is registered there: answered without authentication */
  | { readonly kind: "not-served" }
  /** redirect to the registered path, also without authentication */
  | { readonly kind: "moved"; readonly path: string }
  /** the registered handler does not know this path */
  | { readonly kind: "no-route" }
  | { readonly kind: "wrong-method"; readonly allow: readonly string[] };

/** Paths that are served with any method, and their endpoints. Mirrors the calls of `restfulCont.Handle`. */
const EXACT: Readonly<Record<string, RouteName>> = {
  "/healthz": "healthz",
  "/healthz/ping": "healthz",
  "/healthz/log": "healthz",
  "/healthz/syncloop": "healthz",
  "/metrics": "metrics",
  "/metrics/cadvisor": "metrics",
  "/metrics/resource": "resourceMetrics",
  "/metrics/probes": "metrics",
};

/** The endpoints of a server in addition to health, pods and metrics. Mirrors NewServer. */
export interface ServerSurface {
  /** enableDebuggingHandlers; false on the read-only port */
  readonly debugging: boolean;
  /** enableSystemLogHandler */
  readonly systemLogs: boolean;
}

const FULL_SURFACE: ServerSurface = { debugging: true, systemLogs: true };
/** For the read-only port, which gets no configuration. */
export const READ_ONLY_SURFACE: ServerSurface = { debugging: false, systemLogs: false };

/** Mirrors InstallDebuggingHandlers and InstallDebugFlagsHandler. */
const DEBUGGING_EXACT: Readonly<Record<string, RouteName>> = { "/configz": "configz", "/debug/flags/v": "disabled" };

/** Mirrors InstallDebuggingDisabledHandlers. */
const DISABLED_TREES = ["run", "exec", "attach", "portForward", "containerLogs", "runningpods", "debug/pprof", "logs"];

/** Paths with all paths below them, and their endpoints. */
function treesOf({ debugging, systemLogs }: ServerSurface): readonly (readonly [tree: string, RouteName])[] {
  if (!debugging) return DISABLED_TREES.map((name) => [`/${name}/`, "debuggingDisabled"]);
  return [
    ["/logs/", systemLogs ? "logs" : "disabled"],
    ["/debug/pprof/", "disabled"],
  ];
}

interface Service {
  readonly methods: readonly string[];
  /** names of the segments below the root */
  readonly paths: readonly (readonly string[])[];
  /** registered with a slash at its end: without it, the client is redirected */
  readonly hasSlash?: boolean;
}

const CONTAINER = ["namespace", "pod", "container"];
const CONTAINER_BY_UID = ["namespace", "pod", "uid", "container"];
const STREAM: Service = { methods: ["GET", "POST"], paths: [CONTAINER, CONTAINER_BY_UID] };

/** Mirrors the web services that InstallDefaultHandlers and InstallDebuggingHandlers register. */
const SERVICES: Readonly<Partial<Record<RouteName, Service>>> = {
  pods: { methods: ["GET"], paths: [[]] },
  runningpods: { methods: ["GET"], paths: [[]], hasSlash: true },
  stats: { methods: ["GET", "POST"], paths: [["what"]], hasSlash: true },
  run: { methods: ["POST"], paths: [CONTAINER, CONTAINER_BY_UID] },
  exec: STREAM,
  attach: STREAM,
  portForward: {
    methods: ["GET", "POST"],
    paths: [
      ["namespace", "pod"],
      ["namespace", "pod", "uid"],
    ],
  },
  containerLogs: { methods: ["GET"], paths: [CONTAINER] },
};

/**
 * Finds the endpoint of a request. Pure.
 *
 * Mirrors the routing of pkg/kubelet/server/server.go: first Go's ServeMux, without authentication, then go-restful's,
 * after the authentication filter.
 * Differs: profiles of a Go program are disabled, and so is the level of its log.
 *
 * @param path decoded, without the query
 */
export function matchRoute(method: string, path: string, surface: ServerSurface = FULL_SURFACE): RouteMatch {
  const clean = cleanPath(path);
  if (clean !== path) return { kind: "moved", path: clean };
  const all = surface.debugging ? { ...EXACT, ...DEBUGGING_EXACT } : EXACT;
  const exact = Object.hasOwn(all, path) ? all[path] : undefined;
  if (exact !== undefined) return { kind: "found", name: exact, params: { path } };
  for (const [tree, name] of treesOf(surface)) {
    if (`${path}/` === tree) return { kind: "moved", path: tree };
    if (path.startsWith(tree)) return { kind: "found", name, params: { path } };
  }
  const [, root = "", ...below] = path.split("/");
  const service = Object.hasOwn(SERVICES, root) ? SERVICES[root as RouteName] : undefined;
  if (service === undefined) return { kind: "not-served" };
  if (below.length === 0 && service.hasSlash === true) return { kind: "moved", path: `${path}/` };
  return matchService(root as RouteName, service, method, below);
}

function matchService(name: RouteName, service: Service, method: string, below: readonly string[]): RouteMatch {
  const segments = below.at(-1) === "" ? below.slice(0, -1) : below;
  const names = service.paths.find(({ length }) => length === segments.length);
  const params = Object.fromEntries((names ?? []).map((key, i) => [key, segments[i] ?? ""]));
  if (names === undefined || (name === "stats" && params["what"] !== "summary")) return { kind: "no-route" };
  if (!service.methods.includes(method)) return { kind: "wrong-method", allow: service.methods };
  return { kind: "found", name, params };
}

/** Mirrors cleanPath of Go's net/http. */
function cleanPath(path: string): string {
  const out: string[] = [];
  for (const segment of path.split("/")) {
    if (segment === "..") out.pop();
    else if (segment !== "." && segment !== "") out.push(segment);
  }
  const slash = /\/\.{0,2}$/.test(path) && out.length > 0 ? "/" : "";
  return `/${out.join("/")}${slash}`;
}
