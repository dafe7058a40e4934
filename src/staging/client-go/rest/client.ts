import type { Agent } from "node:http";
import type { Ctx } from "../../../trace/ctx.js";
import type { KubeObject, WatchEvent } from "../../apimachinery/api/meta.js";

/**
 * The address of an API server and the credentials for it. Mirrors rest.Config in client-go.
 * Certificates and keys are PEM; the base64 of a kubeconfig is decoded when it is loaded.
 */
export interface RestConfig {
  /** `https://host:port`, optionally with a path, without a trailing slash */
  readonly server: string;
  readonly caPem?: string;
  /** the name that the serving certificate must have, if not the host of `server` */
  readonly tlsServerName?: string;
  readonly insecureSkipTlsVerify?: boolean;
  /** bearer token; never printed */
  readonly token?: string;
  readonly clientCertificatePem?: string;
  /** never printed */
  readonly clientKeyPem?: string;
  /** Adds headers before each request: for exec plugins, auth providers and impersonation. */
  readonly authorize?: (headers: AskingHeaders) => Promise<void>;
  /** the user that `authorize` impersonates: for messages only */
  readonly impersonatedUser?: string;
  /** connects through the kubeconfig's proxy with the credentials and the CA of this config */
  readonly proxyAgent?: Agent;
}

/** Headers of a request; a name with several values becomes several headers. */
export type AskingHeaders = Record<string, string | string[]>;

export type PatchType =
  | "application/json-patch+json"
  | "application/merge-patch+json"
  | "application/strategic-merge-patch+json";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** begins with `/`; the caller encodes the segments (see `paths.ts`) */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** sent as JSON */
  readonly body?: unknown;
  /** default `application/json` */
  readonly contentType?: PatchType | "application/apply-patch+yaml" | "application/json";
  /** wall-clock ms, default 30 000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
  /** the id of the request's fact, from `Trace.newId`, for a caller that names it as a cause; default: a new one */
  readonly factId?: string;
  /** the limit of the bodies of several responses together; the client counts it down */
  readonly budget?: { leftBytes: number };
}

/** A watch event as a client received it. */
export interface ReceivedEvent<T extends KubeObject = KubeObject> extends WatchEvent<T> {
  /** The id of the client's fact about it, if a trace keeps causes. Run its consequences in `trace.because(event, ...)`. */
  readonly causedBy?: string;
  /** `default/web`, for an event about a pod, if a trace keeps causes */
  readonly pod?: string;
}

/** Any response of the server, also 4xx and 5xx: the caller decides what they mean. */
export interface KubeResponse<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** parsed JSON, or the text if it is not JSON */
  readonly body: T;
}

/** A client of one API server with one identity, which reports each exchange to the trace. */
export interface KubeClient extends AsyncDisposable {
  readonly config: RestConfig;
  /** @throws LabError CLUSTER_UNREACHABLE or CLUSTER_NOT_TRUSTED without a response */
  request<T = unknown>(request: KubeRequest): Promise<KubeResponse<T>>;
  /**
   * As `request`, but throws for any status other than 2xx.
   * @throws LabError UNAUTHORIZED (401), FORBIDDEN (403), REFUSED (others), with the server's message
   */
  expect<T = unknown>(request: KubeRequest): Promise<T>;
  /**
   * Events of one watch, until the server ends it (normal end), `signal` aborts (normal end) or the connection breaks.
   * An ERROR event is yielded like any other.
   * @throws LabError as `expect` does
   */
  watch<T extends KubeObject = KubeObject>(
    path: string,
    query: Readonly<Record<string, string | number | boolean | undefined>>,
    signal: AbortSignal,
  ): AsyncIterable<ReceivedEvent<T>>;
  close(): Promise<void>;
}

/** What an algorithm that talks to an API server needs from its caller. */
export interface ClientCtx extends Ctx {
  readonly client: KubeClient;
}
