import type { KubeObject } from "../../staging/apimachinery/api/meta.js";
import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import { keyOf } from "../../staging/apimachinery/api/object-key.js";
import { sameJson } from "../../staging/apimachinery/same-json.js";
import { type ReflectOptions, reflect } from "../../staging/client-go/cache/reflect.js";
import type { KubeClient } from "../../staging/client-go/rest/client.js";
import { collectionPath, NODES, SERVICES } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { allUntilOneEnds } from "../../util/async/concurrency.js";
import { LabError, messageOf } from "../../util/errors.js";
import { constantsFor, factFor } from "../../util/release/facts.js";
import { counted } from "../../util/text/counted.js";
import { NO_RULES, type RuleTable } from "../netfilter/rules.js";
import { BoundedFrequencyRunner } from "./bounded-frequency-runner.js";
import { type Endpoint, type EndpointSlice, EndpointSliceCache } from "./endpoint-slice-cache.js";
import { proxyRules } from "./iptables/proxier.js";
import { type Service, ServiceChangeTracker, type ServicePort } from "./service.js";
import { healthChecks, ServiceHealthServer } from "./service-health.js";

const ENDPOINT_SLICES = { apiVersion: "discovery.k8s.io/v1", resource: "endpointslices" };
/** Services of another proxy, and headless ones, need no rules. Mirrors the label selector in cmd/kube-proxy/app/server.go. */
const NOT_MINE = "!service.kubernetes.io/service-proxy-name,!service.kubernetes.io/headless";
/** Mirrors burstSyncs in pkg/proxy/iptables/proxier.go. */
const BURST_SYNCS = 2;
/** Mirrors iptables.syncPeriod in pkg/proxy/apis/config/v1alpha1/defaults.go. */
const SYNC_PERIOD_MS = 30_000;
/** The wait after a 403. The right may be granted later. */
const REFUSED_RETRY_MS = 30_000;
const ZONE_LABEL = "topology.kubernetes.io/zone";
const UPSTREAM = { file: "pkg/proxy/iptables/proxier.go", func: "syncProxyRules" };

export interface ProxyDeps extends Ctx {
  /** with kube-proxy's own identity */
  readonly client: KubeClient;
  /** Replaces the rules of the node, as iptables-restore does. @throws Error if the node cannot take them */
  restore(table: RuleTable): Promise<void>;
}

export interface ProxyOptions {
  readonly nodeName: string;
  /** `1.25` */
  readonly kubeVersion: string;
}

/**
 * kube-proxy: watches Services and EndpointSlices, and writes the rules of its node whenever they change.
 *
 * Mirrors cmd/kube-proxy/app/server.go (Run) and pkg/proxy/iptables/proxier.go. Differs: no conntrack entries to clear,
 * because a datagram is routed by itself; no server for its own health and metrics.
 */
export class ProxyServer {
  readonly #services = new Map<string, ServicePort>();
  readonly #serviceChanges = new ServiceChangeTracker();
  readonly #slices: EndpointSliceCache;
  /** by Service: its endpoints by port */
  readonly #endpoints = new Map<string, ReadonlyMap<string, readonly Endpoint[]>>();
  readonly #synced = { services: false, endpoints: false };
  readonly #runner: BoundedFrequencyRunner;
  readonly #health = new ServiceHealthServer();
  #zone = "";
  /** the node's current rules; undefined: unknown, because a write failed */
  #written: RuleTable | undefined = NO_RULES;
  /** Services that changed since the last write */
  readonly #changed = new Set<string>();

  constructor(
    readonly deps: ProxyDeps,
    readonly options: ProxyOptions,
  ) {
    this.#slices = new EndpointSliceCache(options.nodeName);
    const minIntervalMs = factFor("proxyMinSyncPeriod", options.kubeVersion);
    const limits = { minIntervalMs, burst: BURST_SYNCS, retryMs: SYNC_PERIOD_MS };
    this.#runner = new BoundedFrequencyRunner(deps, limits, () => this.#syncProxyRules());
  }

  /** Runs until `signal` aborts. */
  async run(signal: AbortSignal): Promise<void> {
    using _health = { [Symbol.dispose]: () => this.#health.close() };
    await allUntilOneEnds(signal, [
      (inner) =>
        this.#follow<Service>({ path: collectionPath(SERVICES), labelSelector: NOT_MINE }, this.#onServices, inner),
      (inner) =>
        this.#follow<EndpointSlice>(
          { path: collectionPath(ENDPOINT_SLICES), labelSelector: NOT_MINE },
          this.#onSlices,
          inner,
        ),
      (inner) =>
        this.#follow<NodeObject>(
          { path: collectionPath(NODES), fieldSelector: `metadata.name=${this.options.nodeName}` },
          this.#onNode,
          inner,
        ),
      (inner) => this.#runner.run(inner),
    ]);
  }

  readonly #onServices = (before: Service | undefined, now: Service | undefined): boolean => {
    return this.#serviceChanges.update(before, now);
  };

  readonly #onSlices = (before: EndpointSlice | undefined, now: EndpointSlice | undefined): boolean => {
    const slice = now ?? before;
    return slice !== undefined && this.#slices.update(slice, now === undefined);
  };

  readonly #onNode = (_before: NodeObject | undefined, now: NodeObject | undefined): boolean => {
    const zone = now?.metadata.labels?.[ZONE_LABEL] ?? "";
    const isChanged = zone !== this.#zone;
    this.#zone = zone;
    return isChanged;
  };

  /** Reports the first list of a collection and each change. Retries after a refusal. */
  async #follow<T extends KubeObject>(
    options: ReflectOptions,
    onChange: (before: T | undefined, now: T | undefined) => boolean,
    signal: AbortSignal,
  ): Promise<void> {
    let known = new Map<string, T>();
    const { clock, trace } = this.deps;
    while (!signal.aborted) {
      try {
        for await (const event of reflect<T>(this.deps, options, signal)) {
          trace.because(event, () => {
            if (event.type === "init") return;
            const before = known;
            let isChanged = false;
            if (event.type === "initDone") {
              known = new Map(event.objects.map((object) => [keyOf(object), object]));
              for (const [key, object] of before)
                if (!known.has(key)) isChanged = onChange(object, undefined) || isChanged;
              isChanged = this.#setSynced(options.path) || isChanged;
            } else {
              const key = keyOf(event.object);
              const now = event.type === "applied" ? event.object : undefined;
              isChanged = onChange(known.get(key), now);
              if (now === undefined) known.delete(key);
              else known.set(key, now);
            }
            if (isChanged && this.#isInitialized) this.#runner.runSoon();
          });
        }
      } catch (error) {
        if (signal.aborted || !(error instanceof LabError)) throw error;
        const hint = `The rules do not change. kube-proxy retries in ${REFUSED_RETRY_MS / 1000} s. ${error.hint}`;
        trace.emit({ kind: "error", message: error.message, hint }, { actor: "proxy" });
        await clock.sleep(REFUSED_RETRY_MS, signal);
      }
    }
  }

  /** Earlier rules would lack endpoints, and refuse connections that they should accept. */
  get #isInitialized(): boolean {
    return this.#synced.services && this.#synced.endpoints;
  }

  #setSynced(path: string): boolean {
    if (path === collectionPath(SERVICES)) this.#synced.services = true;
    if (path === collectionPath(ENDPOINT_SLICES)) this.#synced.endpoints = true;
    return true;
  }

  /** Writes all rules if they differ from those of the node. @returns false if that failed */
  async #syncProxyRules(): Promise<boolean> {
    const { trace, restore } = this.deps;
    for (const service of this.#serviceChanges.applyTo(this.#services)) this.#changed.add(service);
    for (const [service, ports] of this.#slices.takeChanged()) {
      this.#changed.add(service);
      this.#endpoints.set(service, ports);
      if (ports.size === 0) this.#endpoints.delete(service);
    }
    const { kubeVersion, nodeName } = this.options;
    const all = new Map([...this.#endpoints.values()].flatMap((ports) => [...ports]));
    const usesTerminating = factFor("proxyTerminatingEndpoints", kubeVersion);
    const ofServices = proxyRules(this.#services, all, { zone: this.#zone, usesTerminating });
    const ofHealth = await this.#health.sync(healthChecks(this.#services, all));
    const table = { rules: [...ofServices.rules, ...ofHealth] };
    if (this.#written !== undefined && sameJson(this.#written, table)) return true;
    const names = [...this.#changed].sort();
    this.#changed.clear();
    const isFirst = this.#written === NO_RULES;
    const { id } = trace.emit(
      {
        kind: "decision",
        what: `${nodeName}: write ${counted(table.rules.length, "rule")} of ${counted(this.#services.size, "service port")}`,
        why: isFirst ? "these are the Services at the start" : `changed: ${listed(names)}`,
        constants: constantsFor(kubeVersion, "proxyMinSyncPeriod"),
        upstream: UPSTREAM,
      },
      { actor: "proxy", level: 2, instance: nodeName },
    );
    try {
      await trace.because({ causedBy: id }, () => restore(table));
      this.#written = table;
      return true;
    } catch (error) {
      this.#written = undefined;
      const message = `${nodeName}: the rules of Services were not written: ${messageOf(error)}`;
      trace.emit({ kind: "error", message, hint: "kube-proxy writes them again within 30 s." }, { actor: "proxy" });
      return false;
    }
  }
}

const MAX_LISTED = 3;

function listed(names: readonly string[]): string {
  const rest = names.length - MAX_LISTED;
  const shown = names.slice(0, MAX_LISTED).join(", ");
  return rest > 0 ? `${shown} and ${counted(rest, "other")}` : shown || "nothing that Services need";
}
