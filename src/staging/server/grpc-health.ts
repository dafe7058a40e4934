import { enumeration, string } from "../apimachinery/protobuf/fields.js";
import { message } from "../apimachinery/protobuf/message.js";

/** The messages of grpc.health.v1, of github.com/grpc/grpc-proto: what a gRPC probe sends and gets. */
export const ServingStatus = { UNKNOWN: 0, SERVING: 1, NOT_SERVING: 2, SERVICE_UNKNOWN: 3 } as const;
export const HealthCheckRequest = message("HealthCheckRequest", { service: string(1) });
export const HealthCheckResponse = message("HealthCheckResponse", { status: enumeration(1, { ServingStatus }) });

/** The path of the call. */
export const HEALTH_CHECK_PATH = "/grpc.health.v1.Health/Check";
/** Of each gRPC message: a flag and the length. */
export const GRPC_FRAME_HEADER_BYTES = 5;

/** A message as gRPC sends it, not compressed. */
export function grpcFrame(body: Buffer): Buffer {
  const header = Buffer.alloc(GRPC_FRAME_HEADER_BYTES);
  header.writeUInt32BE(body.length, 1);
  return Buffer.concat([header, body]);
}
