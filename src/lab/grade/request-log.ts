import type { Exchange } from "../../cluster/apiserver/endpoints/exchange.js";
import { SeenBodies } from "../../cluster/apiserver/endpoints/seen-bodies.js";
import type { Trace } from "../../trace/trace.js";
import type { Clock } from "../../util/clock.js";

/** An agent in an endless loop sends thousands; later ones are not kept, and decide nothing. */
const MAX_KEPT = 20_000;

/** One request as the API server saw it. */
export interface SeenRequest {
  /** Unix ms of the cluster's clock, when it arrived */
  readonly atMs: number;
  /** `system:node:NAME`, `system:bootstrap:ID`; empty before and without authentication */
  readonly user: string;
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
  /** path and query */
  readonly target: string;
  /** 0: not answered yet; a watch has it from its end on */
  readonly status: number;
  /** what it sent and got, for writes */
  readonly body?: unknown;
  readonly answer?: unknown;
}

/** The requests of the agent; what is absent matches all. */
export interface RequestFilter {
  /** one of these: `create`, `update patch` */
  readonly verb?: string;
  /** in the notation of RBAC: `nodes`, `nodes/status`, `pods/*` */
  readonly resource?: string;
  readonly name?: string;
  /** Unix ms */
  readonly fromMs?: number;
  readonly toMs?: number;
  /** 2xx answers only */
  readonly isAccepted?: boolean;
}

/** The requests of an agent, as the API server saw them: what it did, whatever it says. */
export class RequestLog {
  readonly #seen: Seen[] = [];

  /** @param trace masks secrets in bodies */
  constructor(
    readonly clock: Clock,
    readonly trace: Trace,
  ) {}

  readonly onRequest = (exchange: Exchange): (() => void) => {
    if (this.#seen.length >= MAX_KEPT) return () => {};
    const isWrite = exchange.method !== "GET";
    if (isWrite && exchange.info.isResourceRequest) exchange.bodies ??= new SeenBodies();
    const seen = new Seen(exchange, this.clock.now(), this.trace);
    this.#seen.push(seen);
    return () => seen.end();
  };

  /** The agent's requests, the oldest first. Those of the administrator and of kubelab's own parts are not among them. */
  find(filter: RequestFilter = {}): readonly SeenRequest[] {
    return this.#seen.filter((one) => isOfAgent(one) && matches(one, filter));
  }
}

function isOfAgent({ user }: SeenRequest): boolean {
  return /^system:(?:node|bootstrap):/.test(user);
}

function matches(seen: SeenRequest, { verb, resource, name, fromMs, toMs, isAccepted }: RequestFilter): boolean {
  if (fromMs !== undefined && seen.atMs < fromMs) return false;
  if (toMs !== undefined && seen.atMs > toMs) return false;
  if (verb !== undefined && !verb.split(" ").includes(seen.verb)) return false;
  if (name !== undefined && seen.name !== name) return false;
  if (isAccepted === true && (seen.status < 200 || seen.status > 299)) return false;
  if (resource === undefined) return true;
  const [wanted, sub = ""] = resource.split("/");
  return seen.resource === wanted && (sub === "*" || seen.subresource === sub);
}

class Seen implements SeenRequest {
  readonly verb: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  #name: string;
  readonly target: string;
  #exchange: Exchange | undefined;
  #user = "";
  status = 0;
  body: unknown;
  answer: unknown;

  constructor(
    exchange: Exchange,
    readonly atMs: number,
    readonly trace: Trace,
  ) {
    const { info, request } = exchange;
    ({ verb: this.verb, resource: this.resource, subresource: this.subresource } = info);
    this.namespace = info.namespace;
    this.#name = info.name;
    this.target = request.url ?? "";
    this.#exchange = exchange;
  }

  get user(): string {
    return this.#exchange?.user?.username ?? this.#user;
  }

  /** A creation names its object in the body. */
  get name(): string {
    return this.#name;
  }

  end(): void {
    const exchange = this.#exchange;
    if (exchange === undefined) return;
    this.#user = this.user;
    this.status = exchange.response.headersSent ? exchange.response.statusCode : 0;
    const { requestBody, responseBody } = exchange.bodies?.masked(this.trace, exchange.info.path) ?? {};
    this.body = requestBody;
    this.answer = responseBody;
    if (this.#name === "") this.#name = nameIn(requestBody);
    this.#exchange = undefined;
  }
}

function nameIn(body: unknown): string {
  const { metadata } = (body ?? {}) as { readonly metadata?: { readonly name?: unknown } };
  return typeof metadata?.name === "string" ? metadata.name : "";
}
