import type { RestConfig } from "../client-go/rest/client.js";
import type { Ctx } from "../trace/ctx.js";
import { quieterTrace } from "../trace/view.js";

/** As what nodes do: see `startNodes`. */
const QUIET_LEVEL = 2;

/** How many nodes named `node-1`, `node-2`, … a cluster has that an earlier process kept. @param nameOf of a number from 1 */
export async function countEarlierNodes(
  admin: RestConfig,
  nameOf: (number: number) => string,
  ctx: Ctx,
  signal: AbortSignal,
): Promise<number> {
  const { listNodes } = await import("./cluster-nodes.js");
  const names = new Set(
    (await listNodes(admin, { ...ctx, trace: quieterTrace(ctx.trace, QUIET_LEVEL) }, signal)).map(({ name }) => name),
  );
  let count = 0;
  while (names.has(nameOf(count + 1))) count++;
  return count;
}
