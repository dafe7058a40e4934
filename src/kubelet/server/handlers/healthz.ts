import type { IncomingMessage, ServerResponse } from "node:http";
import { type HealthCheck, runCheck, runChecks } from "../../../staging/server/healthz.js";
import { httpError, writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";

const PING: HealthCheck = { name: "ping" };

/**
 * Serves /healthz and its checks under upstream's names. Mirrors InstallDefaultHandlers in pkg/kubelet/server/server.go.
 * Differs: `log` always passes, because there is no log buffer that could block.
 */
export async function serveHealthz({ host }: HandlerDeps, { path, query, response }: Call): Promise<void> {
  const syncLoop = () => {
    const problem = host.syncLoopProblem();
    if (problem !== undefined) throw new Error(problem);
  };
  const checks: readonly HealthCheck[] = [PING, { name: "log" }, { name: "syncloop", check: syncLoop }];
  return answer(checks, path, query, response);
}

/**
 * The handler of the health port, which only shows that the process answers.
 * Mirrors run in cmd/kubelet/app/server.go, which installs no check but ping on healthzPort.
 */
export async function serveHealthzPort({ url = "/" }: IncomingMessage, response: ServerResponse): Promise<void> {
  const [path = "/", query] = url.split("?");
  if (path !== "/healthz" && path !== "/healthz/ping") return httpError(response, 404, "404 page not found");
  return answer([PING], path, new URLSearchParams(query), response);
}

async function answer(
  checks: readonly HealthCheck[],
  path: string,
  query: URLSearchParams,
  response: ServerResponse,
): Promise<void> {
  const one = checks.find(({ name }) => path === `/healthz/${name}`);
  const { isHealthy, text } = await (one === undefined ? runChecks(checks, "healthz", query) : runCheck(one));
  if (one === undefined || !isHealthy) response.setHeader("X-Content-Type-Options", "nosniff");
  writeText(response, isHealthy ? 200 : 500, text);
}
