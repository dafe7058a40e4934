import { setMaxListeners } from "node:events";
import type { ServingPair } from "../../../staging/server/serve.js";
import type { Ctx } from "../../../trace/ctx.js";
import { defined } from "../../../util/defined.js";
import { factFor, isAtLeast } from "../../../util/release/facts.js";
import type { Auth } from "../auth/create-auth.js";
import type { Connecters } from "../endpoints/connect.js";
import { AggregatedDiscovery } from "../endpoints/discovery/aggregated-discovery.js";
import { Discovery } from "../endpoints/discovery/discovery.js";
import type { DispatchReport } from "../endpoints/dispatch-report.js";
import type { Exchange } from "../endpoints/exchange.js";
import type { ServerFaults } from "../endpoints/faults/server-faults.js";
import { Appliers } from "../endpoints/handlers/apply.js";
import { Metrics } from "../endpoints/metrics.js";
import { Serializer } from "../endpoints/responsewriters/serialize.js";
import { Presenter } from "../endpoints/responsewriters/show.js";
import { Routes } from "../endpoints/routes.js";
import type { ActionHandlers } from "../registry/rest/action.js";
import type { Registry } from "../registry/rest/registry.js";
import type { Storage } from "../storage/storage.js";
import { Filters } from "./filters.js";
import type { RequestHandlerDeps } from "./handler.js";
import { Health, healthChecks } from "./health.js";
import { OpenApi, type OpenApiSource } from "./openapi.js";
import { HttpsFace, type ListenOptions, type PlainListenOptions } from "./server.js";
import { versionInfo } from "./version.js";

export interface ApiServerDeps extends Ctx {
  /** `1.25` */
  readonly kubeVersion: string;
  readonly registry: Registry;
  readonly storage: Pick<Storage, "health">;
  readonly auth: Pick<Auth, "authenticator" | "authorizer" | "tokens" | "views">;
  readonly dispatches: DispatchReport;
  readonly actions: ActionHandlers;
  readonly connecters: Connecters;
  /** faults that meet its requests */
  readonly faults?: ServerFaults;
  /** sees each request when it arrives; its result is called when it is answered */
  readonly onRequest?: (exchange: Exchange) => () => void;
}

/** A listening API server. */
export interface ApiServer {
  readonly port: number;
  /** See HttpsFace. */
  useCertificate(pair: ServingPair): void;
  /** Ends watches, lets other responses finish and closes sockets. Safe to call twice. */
  close(): Promise<void>;
}

/** Builds the API server; nothing runs before `listen`. */
export function createApiServer(deps: ApiServerDeps): {
  /** @param plain also listen here without TLS, for a lab on this machine */
  listen(options: ListenOptions, plain?: PlainListenOptions): Promise<ApiServer & { readonly plainPort?: number }>;
} {
  const closing = new AbortController();
  // Every watch listens to this signal, and the number of watches has no limit.
  setMaxListeners(0, closing.signal);
  const requestDeps = requestHandlerDeps(deps, closing.signal);
  return {
    async listen(options, plain) {
      const face = await HttpsFace.listen(requestDeps, options);
      const open = () =>
        HttpsFace.listenPlain({ ...requestDeps, filters: unsecured(deps) }, plain as PlainListenOptions);
      const plainFace = plain === undefined ? undefined : await open();
      return {
        port: face.port,
        ...(plainFace === undefined ? {} : { plainPort: plainFace.port }),
        useCertificate: (pair) => face.useCertificate(pair, options.clientCaPem),
        async close() {
          closing.abort();
          await plainFace?.close();
          await face.close();
        },
      };
    },
  };
}

/** Mirrors InsecureServingInfo, which upstream had until 1.24 (`--insecure-port`). */
function unsecured({ auth }: ApiServerDeps): Filters {
  const user = { username: "system:unsecured", groups: ["system:masters", "system:authenticated"] };
  const how = "it came over plain HTTP, where every client has all rights";
  const authenticate = async () => ({ outcome: "authenticated" as const, user, how });
  return new Filters({ authenticator: { authenticate }, authorizer: auth.authorizer });
}

function requestHandlerDeps(deps: ApiServerDeps, closing: AbortSignal): RequestHandlerDeps {
  const { clock, random, trace, kubeVersion, registry, auth, actions, connecters, dispatches } = deps;
  const routes = new Routes(registry);
  const counters = new Metrics();
  const info = versionInfo(kubeVersion);
  return {
    registry,
    actions,
    connecters,
    clock,
    random,
    trace,
    ...defined({ faults: deps.faults, onRequest: deps.onRequest }),
    counters,
    appliers: new Appliers(),
    dispatches,
    closing,
    routes,
    presenter: new Presenter(new Serializer(), clock),
    filters: new Filters({ authenticator: auth.authenticator, authorizer: auth.authorizer }),
    aggregated: new AggregatedDiscovery(routes, factFor("aggregatedDiscovery", kubeVersion)),
    discovery: new Discovery(routes, isAtLeast(kubeVersion, "1.27")),
    health: new Health(healthChecks({ storage: deps.storage, views: auth.views, closing })),
    openApi: new OpenApi(routes, openApiSource(registry), info["gitVersion"] ?? "", clock),
    version: info,
    issuer: auth.tokens,
    metrics: async () => counters.render(await countObjects(registry)),
  };
}

/** Loaded with the first request for a document. */
function openApiSource({ definitions }: Registry): OpenApiSource {
  return {
    async v3(group, version) {
      const { openApiDocument } = await import("../openapi/document.js");
      return openApiDocument(group, version, definitions);
    },
    async v2(info) {
      const { swaggerDocument } = await import("../openapi/swagger.js");
      const { encodeSwagger } = await import("../openapi/swagger-protobuf.js");
      const json = swaggerDocument(definitions, info);
      return { json, protobuf: encodeSwagger(json) };
    },
  };
}

async function countObjects(registry: Registry): Promise<Map<string, number>> {
  const counts = new Map<string, number>();
  for (const { group, resource, virtual, storedAs } of registry.definitions) {
    if (virtual === true || storedAs !== undefined) continue;
    const name = group === "" ? resource : `${resource}.${group}`;
    const { metadata, items } = await registry.store(name).list(undefined, { limit: 1 });
    counts.set(name, items.length + (metadata.remainingItemCount ?? 0));
  }
  return counts;
}
