import { type HealthCheck, runCheck, runChecks } from "../../../server/healthz.js";
import { writeText } from "../answers.js";
import type { Call, HandlerDeps } from "../call.js";

/**
 * Serves /healthz and its checks under upstream's names. Mirrors InstallDefaultHandlers in pkg/kubelet/server/server.go.
 * Differs: no check `log`, because there is no log buffer that could block.
 */
export async function serveHealthz({ host }: HandlerDeps, { path, query, response }: Call): Promise<void> {
  const syncLoop = () => {
    const problem = host.syncLoopProblem();
    if (problem !== undefined) throw new Error(problem);
  };
  const checks: readonly HealthCheck[] = [{ name: "ping" }, { name: "syncloop", check: syncLoop }];
  const one = checks.find(({ name }) => path === `/healthz/${name}`);
  const { isHealthy, text } = await (one === undefined ? runChecks(checks, "healthz", query) : runCheck(one));
  if (one === undefined || !isHealthy) response.setHeader("X-Content-Type-Options", "nosniff");
  writeText(response, isHealthy ? 200 : 500, text);
}
