/** The status codes of gRPC, by number, in Go's spelling, as logs print them after `code =`. */
export const GRPC_CODES = [
  "OK",
  "Canceled",
  "Unknown",
  "InvalidArgument",
  "DeadlineExceeded",
  "NotFound",
  "AlreadyExists",
  "PermissionDenied",
  "ResourceExhausted",
  "FailedPrecondition",
  "Aborted",
  "OutOfRange",
  "Unimplemented",
  "Internal",
  "Unavailable",
  "DataLoss",
  "Unauthenticated",
] as const;
export type GrpcCode = (typeof GRPC_CODES)[number];

/** Codes that gRPC does not define count as Unknown. */
export function grpcCode(number: number): GrpcCode {
  return GRPC_CODES[number] ?? "Unknown";
}
