import { type HealthCheck, runCheck, runChecks } from "../../server/healthz.js";
import { writeBody, writePageNotFound, writeText } from "./answer.js";
import type { Exchange } from "./exchange.js";

interface ServerCheck extends HealthCheck {
  /** only /readyz runs this check */
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
 * The checks of a kube-apiserver v1.25, with the same names and order, for clients that parse them.
 * Differs: `etcd` checks the storage that replaces etcd, and `shutdown` fails while the server closes. The hooks always
 * pass: they belong to parts that do not exist here or that finish before the server listens.
 */
export function healthChecks(checks: { storage(): Promise<void>; shutdown(): Promise<void> }): ServerCheck[] {
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

/** Serves /healthz, /livez and /readyz. */
export class Health {
  readonly #checks: Readonly<Record<Endpoint, readonly ServerCheck[]>>;

  constructor(checks: readonly ServerCheck[]) {
    const always = checks.filter((one) => one.readyOnly !== true);
    this.#checks = { healthz: always, livez: always, readyz: checks };
  }

  paths(): string[] {
    return ENDPOINTS.flatMap((endpoint) => [
      `/${endpoint}`,
      ...this.#checks[endpoint].map((check) => `/${endpoint}/${check.name}`),
    ]);
  }

  /** @returns false when the path is not a health endpoint */
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
    const { isHealthy, text } = await runCheck(found);
    if (!isHealthy) return writeText(exchange, 500, text);
    await writeBody(exchange, 200, text, "text/plain; charset=utf-8");
  }

  async #all(exchange: Exchange, endpoint: Endpoint): Promise<void> {
    const { isHealthy, text } = await runChecks(this.#checks[endpoint], endpoint, exchange.query);
    await writeText(exchange, isHealthy ? 200 : 500, text);
  }
}
