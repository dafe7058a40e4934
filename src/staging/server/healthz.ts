import { messageOf } from "../../util/errors.js";

/** One check behind /healthz, /livez or /readyz. */
export interface HealthCheck {
  readonly name: string;
  /** throws the reason of a failure; absent: the check always passes */
  readonly check?: () => Promise<void> | void;
}

export interface HealthAnswer {
  readonly isHealthy: boolean;
  readonly text: string;
}

/** Mirrors k8s.io/apiserver/pkg/server/healthz/healthz.go (adaptCheckToHandler). */
export async function runCheck(check: HealthCheck): Promise<HealthAnswer> {
  const failure = await failureOf(check);
  if (failure === undefined) return { isHealthy: true, text: "ok" };
  return { isHealthy: false, text: `internal server error: ${failure}\n` };
}

/**
 * Runs all checks that the query does not exclude.
 * Mirrors k8s.io/apiserver/pkg/server/healthz/healthz.go (handleRootHealth).
 * @param endpoint `healthz`
 */
export async function runChecks(
  checks: readonly HealthCheck[],
  endpoint: string,
  query: URLSearchParams,
): Promise<HealthAnswer> {
  const excluded = new Set(query.getAll("exclude"));
  const lines: string[] = [];
  let isHealthy = true;
  for (const check of checks) {
    if (excluded.delete(check.name)) {
      lines.push(`[+]${check.name} excluded: ok`);
      continue;
    }
    const hasFailed = (await failureOf(check)) !== undefined;
    if (hasFailed) isHealthy = false;
    lines.push(hasFailed ? `[-]${check.name} failed: reason withheld` : `[+]${check.name} ok`);
  }
  if (excluded.size > 0) {
    const unknown = [...excluded].sort().map((name) => JSON.stringify(name));
    lines.push(`warn: some health checks cannot be excluded: no matches for ${unknown.join(",")}`);
  }
  if (isHealthy && !query.has("verbose")) return { isHealthy, text: "ok" };
  return { isHealthy, text: `${lines.join("\n")}\n${endpoint} check ${isHealthy ? "passed" : "failed"}\n` };
}

/** Why a check fails; undefined when it passes. */
export async function failureOf({ check }: HealthCheck): Promise<string | undefined> {
  try {
    await check?.();
    return undefined;
  } catch (error) {
    return messageOf(error);
  }
}
