import { performServerHandshake, type ServerHttp2Stream } from "node:http2";
import { goDuration } from "../../../../staging/apimachinery/time.js";
import {
  GRPC_FRAME_HEADER_BYTES,
  grpcFrame,
  HEALTH_CHECK_PATH,
  HealthCheckRequest,
  HealthCheckResponse,
  ServingStatus,
} from "../../../../staging/server/grpc-health.js";
import { readBounded } from "../../../../staging/streaming/read-bounded.js";
import { bindErrorText, listenTcp } from "../../net/listen.js";
import { duplexOf } from "../../process/duplex.js";
import type { Self } from "../../process/process.js";
import { untilKilled } from "../system.js";
import type { Flags } from "./flags.js";
import { goLog } from "./go-log.js";
import { serve } from "./web.js";

const MAX_REQUEST_BYTES = 64 * 1024;
const NOT_FOUND = 5;
const UNIMPLEMENTED = 12;
const GRPC = { ":status": 200, "content-type": "application/grpc" } as const;

/**
 * `grpc-health-checking`: a gRPC health service that stops serving after `--delay-unhealthy-sec`, or when a client of the HTTP
 * port asks for it.
 *
 * Mirrors test/images/agnhost/grpc-health-checking.
 */
export async function grpcHealthChecking(self: Self, flags: Flags): Promise<number> {
  const { clock } = self.machine;
  const [port, httpPort] = [flags.number("port", 5000), flags.number("http-port", 8080)];
  const delayMs = flags.number("delay-unhealthy-sec", -1) * 1000;
  const startedMs = clock.now();
  let isForcedUnhealthy: boolean | undefined;
  const httpProblem = serve(self, httpPort, async ({ path, answer }) => {
    if (path !== "/make-serving" && path !== "/make-not-serving") return answer(404, "404 page not found\n");
    isForcedUnhealthy = path === "/make-not-serving";
    await goLog(self, isForcedUnhealthy ? "Mark as unhealthy" : "Mark as healthy");
    answer(200, goDuration(clock.now() - startedMs));
  });
  await goLog(self, `Http server starting to listen on :${httpPort}`);
  const isUnhealthy = () => isForcedUnhealthy === true || (delayMs >= 0 && clock.now() - startedMs >= delayMs);
  const check = async (stream: ServerHttp2Stream, path: string) => {
    if (path !== HEALTH_CHECK_PATH) return refuse(stream, UNIMPLEMENTED, "unimplemented");
    const { bytes } = await readBounded(stream, MAX_REQUEST_BYTES);
    await goLog(self, "Serving the Check request for health check");
    const { service } = HealthCheckRequest.decode(bytes.subarray(GRPC_FRAME_HEADER_BYTES));
    if (service !== flags.text("service")) return refuse(stream, NOT_FOUND, "unknown service");
    const status = isUnhealthy() ? ServingStatus.NOT_SERVING : ServingStatus.SERVING;
    stream.respond(GRPC, { waitForTrailers: true });
    stream.once("wantTrailers", () => stream.sendTrailers({ "grpc-status": "0" }));
    stream.end(grpcFrame(HealthCheckResponse.encode({ status })));
  };
  const listening = listenTcp(self, port, (connection) => {
    const session = performServerHandshake(duplexOf(connection, self.signal));
    session.on("error", () => session.destroy());
    session.on("stream", (stream, headers) => {
      stream.on("error", () => {});
      check(stream, String(headers[":path"])).catch(() => stream.destroy());
    });
  });
  const problem = httpProblem ?? (typeof listening === "string" ? listening : undefined);
  if (problem !== undefined) {
    const taken = httpProblem === undefined ? port : httpPort;
    await goLog(self, `listen tcp :${taken}: bind: ${bindErrorText(problem).toLowerCase()}`);
    return 1;
  }
  await goLog(self, `gRPC server starting to listen on :${port}`);
  return untilKilled(self);
}

function refuse(stream: ServerHttp2Stream, code: number, message: string): void {
  stream.respond({ ...GRPC, "grpc-status": String(code), "grpc-message": message }, { endStream: true });
}
