import type { Self } from "../process/process.js";
import { Flags, parseFlags } from "./agnhost/flags.js";
import { grpcHealthChecking } from "./agnhost/grpc-health-checking.js";
import { component } from "./system.js";

/** `etcd --listen-client-urls http://0.0.0.0:2379`: its gRPC health service, without a store. Otherwise the cluster's own etcd. */
export async function etcd(self: Self): Promise<number> {
  const urls = parseFlags(self.argv.slice(1), {}, []).text("listen-client-urls");
  const port = /^http:\/\/[^,]*:(\d+)/.exec(urls)?.[1];
  if (port === undefined) return component(self);
  return grpcHealthChecking(
    self,
    new Flags(
      new Map([
        ["port", port],
        ["http-port", "2381"],
      ]),
    ),
  );
}
