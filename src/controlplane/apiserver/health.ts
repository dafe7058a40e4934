import { messageOf } from "../../util/errors.js";
import { writeBody, writePageNotFound, writeText } from "./answer.js";
import type { Exchange } from "./exchange.js";

/** One check behind /healthz, /livez and /readyz. */
export interface HealthCheck {
  readonly name: string;
  /** absent: nothing can be wrong with it here. Rejects when it is. */
  readonly check?: () => Promise<void>;
  /** only /readyz asks it */
  readonly readyOnly?: boolean;
}

const HOOKS_OF_SERVER = [
  "start-kube-apiserver-admission-initializer",
  "generic-apiserver-start-informers",
  "priority-and-fairness-config-consumer",
  "priority-and-fairness-filter",
  "storage-object-count-tracker-hook",
  "start-apiextensions-informers",
  "start-apiextensions-controllers",
  "crd-informer-synced",
  "bootstrap-controller",
  "rbac/bootstrap-roles",
  "scheduling/bootstrap-system-priority-classes",
  "priority-and-fairness-config-producer",
  "start-cluster-authentication-info-controller",
  "start-kube-aggregator-informers",
  "apiservice-registration-controller",
  "apiservice-status-available-controller",
  "kube-apiserver-autoregistration",
];
const HOOKS_AFTER_REGISTRATION = ["apiservice-openapi-controller", "apiservice-openapiv3-controller"];

/**
 * The checks of a kube-apiserver v1.25, under their names and in their order, for the sake of what reads them.
 *
 * Differs: `etcd` asks the storage that stands in for etcd and `shutdown` fails while the server closes; the hooks are of
 * parts that do not exist here or are done before the server listens, so they always pass.
 */
export function healthChecks(checks: { storage(): Promise<void>; shutdown(): Promise<void> }): HealthCheck[] {
  return [
    { name: "ping" },
    { name: "log" },
    { name: "etcd", check: checks.storage },
    { name: "etcd-readiness", check: checks.storage, readyOnly: true },
    { name: "informer-sync", readyOnly: true },
    ...HOOKS_OF_SERVER.map((name) => ({ name: `poststarthook/${name}` })),
    { name: "autoregister-completion" },
    ...HOOKS_AFTER_REGISTRATION.map((name) => ({ name: `poststarthook/${name}` })),
    { name: "shutdown", check: checks.shutdown, readyOnly: true },
  ];
}

const ENDPOINTS = ["healthz", "livez", "readyz"] as const;
type Endpoint = (typeof ENDPOINTS)[number];

/** Mirrors k8s.io/apiserver/pkg/server/healthz/healthz.go (handleRootHealth, adaptCheckToHandler). */
export class Health {
  readonly #checks: Readonly<Record<Endpoint, readonly HealthCheck[]>>;

  constructor(checks: readonly HealthCheck[]) {
    const always = checks.filter((one) => one.readyOnly !== true);
    this.#checks = { healthz: always, livez: always, readyz: checks };
  }

  paths(): string[] {
    return ENDPOINTS.flatMap((endpoint) => [
      `/${endpoint}`,
      ...this.#checks[endpoint].map((check) => `/${endpoint}/${check.name}`),
    ]);
  }

  /** @returns false when the path is none of health */
  async answer(exchange: Exchange): Promise<boolean> {
    const [, name = "", ...rest] = exchange.info.path.split("/");
    const endpoint = ENDPOINTS.find((one) => one === name);
    if (endpoint === undefined) return false;
    if (rest.length === 0) await this.#all(exchange, endpoint);
    else await this.#single(exchange, endpoint, rest.join("/"));
    return true;
  }

  async #single(exchange: Exchange, endpoint: Endpoint, name: string): Promise<void> {
    const found = this.#checks[endpoint].find((check) => check.name === name);
    if (found === undefined) return writePageNotFound(exchange);
    const failure = await failureOf(found);
    if (failure !== undefined) return writeText(exchange, 500, `internal server error: ${failure}\n`);
    await writeBody(exchange, 200, "ok", "text/plain; charset=utf-8");
  }

  async #all(exchange: Exchange, endpoint: Endpoint): Promise<void> {
    const excluded = new Set(exchange.query.getAll("exclude"));
    const lines: string[] = [];
    let failed = false;
    for (const check of this.#checks[endpoint]) {
      if (excluded.delete(check.name)) {
        lines.push(`[+]${check.name} excluded: ok`);
        continue;
      }
      const failure = await failureOf(check);
      failed ||= failure !== undefined;
      lines.push(failure === undefined ? `[+]${check.name} ok` : `[-]${check.name} failed: reason withheld`);
    }
    if (excluded.size > 0) {
      const unknown = [...excluded].map((name) => JSON.stringify(name)).join(", ");
      lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown}`);
    }
    if (failed) return writeText(exchange, 500, `${lines.join("\n")}\n${endpoint} check failed\n`);
    if (!exchange.query.has("verbose")) return writeText(exchange, 200, "ok");
    await writeText(exchange, 200, `${lines.join("\n")}\n${endpoint} check passed\n`);
  }
}

async function failureOf(check: HealthCheck): Promise<string | undefined> {
  try {
    await check.check?.();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
