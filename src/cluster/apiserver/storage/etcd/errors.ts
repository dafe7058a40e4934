import type { ServiceError } from "@grpc/grpc-js";
import { StatusError, statusError } from "../../../../staging/apimachinery/errors.js";
import { lastErrorIn } from "../../../../util/grpc-last-error.js";
import { type GrpcCode, grpcCode } from "../../../../util/net/grpc-codes.js";

/** Mirrors the errors of etcd's api/v3rpc/rpctypes/error.go that the storage branches on. */
const COMPACTED = "etcdserver: mvcc: required revision has been compacted";

/** grpc-js's words for a call that it could not send: no connection. */
const UNSENT = /^(?:No connection established|Name resolution failed)/;

/** A failed call of etcd. */
export class EtcdError extends Error {
  override readonly name = "EtcdError";
  constructor(
    readonly code: GrpcCode,
    /** the server's address, as configured */
    readonly server: string,
    /** etcd's words, or those of the connection */
    readonly details: string,
  ) {
    super(code === "Unavailable" || code === "DeadlineExceeded" ? `etcd at ${server}: ${details}` : details);
  }

  /** Whether etcd cannot have seen the request. */
  get isUnsent(): boolean {
    return this.code === "Unavailable" && UNSENT.test(this.details);
  }

  get isCompacted(): boolean {
    return this.details === COMPACTED;
  }
}

/** Converts grpc-js's error. */
export function etcdError(server: string, { code, details }: Pick<ServiceError, "code" | "details">): EtcdError {
  const text = details.startsWith("No connection established. Last error: ") ? lastErrorIn(details) : undefined;
  if (text === undefined) return new EtcdError(grpcCode(code), server, details);
  // `802C…:error:0A000412:SSL routines:ssl3_read_bytes:sslv3 alert bad certificate:../deps/…`
  const why = /:SSL routines:[^:]*:([^:]+):/.exec(text)?.[1] ?? text;
  return new EtcdError(grpcCode(code), server, `No connection established: ${why}`);
}

/**
 * What the API server answers, with the error as its cause: 504 if etcd did not answer in time, 500 with its words otherwise.
 * Mirrors finishRequest in k8s.io/apiserver/pkg/endpoints/handlers/finisher/finisher.go and ErrorToAPIStatus in
 * responsewriters/status.go.
 */
export function asAnswer(error: EtcdError): StatusError {
  return Object.assign(answerTo(error), { cause: error });
}

function answerTo(error: EtcdError): StatusError {
  if (error.code !== "DeadlineExceeded") return statusError(500, undefined, error.message);
  const text = "request did not complete within requested timeout - context deadline exceeded";
  return statusError(504, "Timeout", `Timeout: ${text}`, {});
}

/** A stored value that cannot be read, named by its key. Requests for this object alone fail. */
export class UndecodableError extends StatusError {
  constructor(
    readonly key: string,
    readonly why: string,
  ) {
    super(
      statusError(500, "InternalError", `unable to decode the value of etcd's key ${JSON.stringify(key)}: ${why}`)
        .status,
    );
  }
}
