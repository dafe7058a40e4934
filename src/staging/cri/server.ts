import {
  type Handlers,
  methodsOf,
  type RunningGrpcServer,
  type ServedMethod,
  type ServeOptions,
  serveGrpc,
} from "./grpc/grpc-server.js";
import { v1alpha2Of } from "./grpc/rpc.js";
import { RpcError } from "./grpc/status.js";
import { IMAGE_SERVICE, isInV1alpha2, RUNTIME_SERVICE } from "./services.js";

export interface CriHandlers {
  readonly runtime: Handlers<typeof RUNTIME_SERVICE>;
  readonly image: Handlers<typeof IMAGE_SERVICE>;
}

export type CriVersion = "v1" | "v1alpha2";

export interface ServeCriOptions extends ServeOptions {
  /** the only version that it serves; default: both, as containerd 1.6; containerd 1.5 has v1alpha2, containerd 2.0 has v1 */
  readonly criVersion?: CriVersion | undefined;
}

/**
 * Serves runtime.v1 and runtime.v1alpha2, or one of them.
 * @throws LabError as serveGrpc
 */
export function serveCri(
  handlers: CriHandlers,
  endpoint: string,
  { criVersion, ...options }: ServeCriOptions = {},
): Promise<RunningGrpcServer> {
  const methods = [...methodsOf(RUNTIME_SERVICE, handlers.runtime), ...methodsOf(IMAGE_SERVICE, handlers.image)];
  const old = methods
    .filter(({ rpc }) => isInV1alpha2(rpc))
    .map((method) => ({ ...method, rpc: v1alpha2Of(method.rpc) }));
  const served = (version: CriVersion, all: readonly ServedMethod[]) =>
    criVersion === undefined || criVersion === version ? all : all.map(({ rpc }) => ({ rpc, handler: unknownService }));
  return serveGrpc([...served("v1", methods), ...served("v1alpha2", old)], endpoint, options);
}

/** The answer of a Go server for an unknown service. */
const unknownService: ServedMethod["handler"] = (_request, { rpc }) => {
  throw new RpcError("Unimplemented", `unknown service ${rpc.service}`);
};
