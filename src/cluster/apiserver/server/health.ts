import { runCheck, runChecks } from "../../../staging/server/healthz.js";
import type { ObjectView } from "../auth/object-view.js";
import type { Exchange } from "../endpoints/exchange.js";
import { writeBody, writePageNotFound, writeText } from "../endpoints/responsewriters/answer.js";
import type { ServerCheck, Storage } from "../storage/storage.js";

const HEALTHZ = "staging/src/k8s.io/apiserver/pkg/server/healthz/healthz.go";
const ALL = { file: HEALTHZ, func: "handleRootHealth" };
const SINGLE = { file: HEALTHZ, func: "adaptCheckToHandler" };

/** What the checks examine. */
export interface HealthSubjects {
  readonly storage: Pick<Storage, "health">;
  /** the copies of objects that authorization reads */
  readonly views: readonly Pick<ObjectView, "resource" | "isFollowing">[];
  /** aborts when the server begins to close */
  readonly closing: AbortSignal;
}

/**
 * Differs from kube-apiserver v1.25: only checks that can fail. `storage` replaces etcd and etcd-readiness for a cluster in memory; there is no log
 * check and there are no post-start hooks, because what those do is done here before the server listens.
 */
export function healthChecks({ storage, views, closing }: HealthSubjects): ServerCheck[] {
  return [
    { name: "ping" },
    ...storage.health.checks,
    { name: "informer-sync", check: () => checkInformers(views), readyOnly: true },
    { name: "shutdown", check: () => closing.throwIfAborted(), readyOnly: true },
  ];
}

/** Mirrors informerSync.Check in k8s.io/apiserver/pkg/server/healthz/healthz.go. */
function checkInformers(views: HealthSubjects["views"]): void {
  const missing = views.filter(({ isFollowing }) => !isFollowing).map(({ resource }) => resource);
  if (missing.length > 0) throw new Error(`${missing.length} informers not started yet: [${missing.join(" ")}]`);
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
    if (!isHealthy) return writeText(exchange, 500, text, SINGLE);
    await writeBody(exchange, 200, text, "text/plain; charset=utf-8", { writer: SINGLE });
  }

  async #all(exchange: Exchange, endpoint: Endpoint): Promise<void> {
    const { isHealthy, text } = await runChecks(this.#checks[endpoint], endpoint, exchange.query);
    await writeText(exchange, isHealthy ? 200 : 500, text, ALL);
  }
}
