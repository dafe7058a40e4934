import type { Agent } from "node:http";
import type { KubeObject, WatchEvent } from "../../apimachinery/api/meta.js";

/**
 * How to reach an API server and as whom. Mirrors rest.Config in client-go.
 * PEM everywhere; a kubeconfig's base64 is decoded when it is read.
 */
export interface RestConfig {
  /** `https://host:port`, maybe with a path, without a trailing slash */
  readonly server: string;
  readonly caPem?: string;
  /** Name to verify the serving certificate against, when it is not the host of `server`. */
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

/** Headers of a request; a name with several values is sent as several headers. */
export type AskingHeaders = Record<string, string | string[]>;

export type PatchType =
  | "application/json-patch+json"
  | "application/merge-patch+json"
  | "application/strategic-merge-patch+json";

export interface KubeRequest {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** begins with `/`; segments are encoded by the caller (see `paths.ts`) */
  readonly path: string;
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>>;
  /** sent as JSON */
  readonly body?: unknown;
  /** default `application/json` */
  readonly contentType?: PatchType | "application/json";
  /** ms on the wall, default 30 000 */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Any answer the server gave, also 4xx and 5xx: what they mean is the caller's decision. */
export interface KubeResponse<T = unknown> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** parsed JSON, or the text where it is not JSON */
  readonly body: T;
}

/**
 * A client of one API server with one identity. Every exchange is reported to the trace by the client itself.
 */
export interface KubeClient {
  readonly config: RestConfig;
  /**
   * @throws LabError CLUSTER_UNREACHABLE or CLUSTER_NOT_TRUSTED when no answer came
   */
  request<T = unknown>(request: KubeRequest): Promise<KubeResponse<T>>;
  /**
   * As `request`, but anything else than 2xx throws.
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
  ): AsyncIterable<WatchEvent<T>>;
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}
