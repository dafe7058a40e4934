import type { NodeObject } from "../../staging/apimachinery/api/node.js";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import { collectionPath, NODES } from "../../staging/client-go/rest/paths.js";
import type { Ctx } from "../../trace/ctx.js";
import { quieterTrace } from "../../trace/view.js";
import { SIMULATED_LABEL } from "../simulated/node.js";

/** As what nodes do: see `startNodes`. */
const QUIET_LEVEL = 2;

/** The nodes `node-1`, `node-2`, … that an earlier process kept. */
export interface EarlierNodes {
  readonly count: number;
  readonly areSimulated: boolean;
}

/** @param nameOf of a number from 1 */
export async function earlierNodes(
  admin: RestConfig,
  nameOf: (number: number) => string,
  ctx: Ctx,
  signal: AbortSignal,
): Promise<EarlierNodes> {
  const trace = quieterTrace(ctx.trace, QUIET_LEVEL);
  await using client = createClient(admin, { ...ctx, trace, actor: "user" });
  const path = collectionPath(NODES);
  const { items } = await client.expect<{ readonly items: readonly NodeObject[] }>({ method: "GET", path, signal });
  const byName = new Map(items.map((node) => [node.metadata.name, node]));
  let count = 0;
  while (byName.has(nameOf(count + 1))) count++;
  return { count, areSimulated: byName.get(nameOf(1))?.metadata.labels?.[SIMULATED_LABEL] === "true" };
}
