/** A request of a client that has been answered, or has failed. */
export interface ObservedRequest {
  readonly method: string;
  /** `127.0.0.1:6443` */
  readonly host: string;
  /** undefined: no answer came */
  readonly status: number | undefined;
  /** undefined for a watch, whose length does not depend on the server */
  readonly durationMs: number | undefined;
}

/** Measures the requests of a client. Mirrors ResultMetric and LatencyMetric in k8s.io/client-go/tools/metrics. */
export type RequestObserver = (request: ObservedRequest) => void;
