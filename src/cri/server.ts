import { type Handlers, methodsOf, type RunningGrpcServer, type ServeOptions, serveGrpc } from "./grpc-server.js";
import { v1alpha2Of } from "./rpc.js";
import { IMAGE_SERVICE, isInV1alpha2, RUNTIME_SERVICE } from "./services.js";

export interface CriHandlers {
  readonly runtime: Handlers<typeof RUNTIME_SERVICE>;
  readonly image: Handlers<typeof IMAGE_SERVICE>;
}

/**
 * Serves runtime.v1 and runtime.v1alpha2, as containerd 1.6 does.
 * @throws LabError as serveGrpc
 */
export function serveCri(
  handlers: CriHandlers,
  endpoint: string,
  options: ServeOptions = {},
): Promise<RunningGrpcServer> {
  const methods = [...methodsOf(RUNTIME_SERVICE, handlers.runtime), ...methodsOf(IMAGE_SERVICE, handlers.image)];
  const old = methods
    .filter(({ rpc }) => isInV1alpha2(rpc))
    .map((method) => ({ ...method, rpc: v1alpha2Of(method.rpc) }));
  return serveGrpc([...methods, ...old], endpoint, options);
}
