import type { Trace } from "../../trace/trace.js";
import { FactHistory } from "../../trace/ui/fact-history.js";
import type { LiveEndpoints } from "../../trace/ui/live-exchange.js";
import { LiveServer, type LiveWindow } from "../../trace/ui/live-server.js";
import { SystemClock } from "../../util/clock.js";

export interface HttpAddress {
  readonly host: string;
  readonly port: number;
}

/** The history for a page that is opened late. Without --ui, little is kept. */
const KEPT_FACTS = { maxLines: 1_000, maxSize: 1024 * 1024 };
/** steps, decisions, states: what a terminal shows by default */
const LEVEL = 1;

/**
 * Serves `--http`: the live page of a window, its state as JSON (`GET /state`) and other endpoints for scripts. Only a POST changes
 * anything.
 * @throws LabError USAGE when it cannot listen on the address
 */
export async function servePage(
  trace: Trace,
  window: LiveWindow,
  endpoints: LiveEndpoints,
  address: HttpAddress,
): Promise<LiveServer> {
  const live = await LiveServer.open({
    ...address,
    clock: new SystemClock(),
    level: LEVEL,
    history: new FactHistory(KEPT_FACTS),
    endpoints,
    hint: "Name another port, or 0 for a free one: --http 127.0.0.1:0",
  });
  trace.addSink(live);
  live.present(window);
  return live;
}
