import type { Pleg } from "../../testbed/pleg/pleg.js";
import type { LabRuntime } from "../../testbed/runtime/lab-runtime.js";
import type { Trace } from "../../trace/trace.js";
import type { LiveAnswer } from "../../trace/ui/live-exchange.js";
import type { LiveServer, LiveWindow } from "../../trace/ui/live-server.js";
import { LabError } from "../../util/errors.js";
import { type HttpAddress, servePage } from "../inspector/page-server.js";
import { pageState } from "./state.js";

export interface PageDeps {
  readonly pleg: Pleg;
  readonly trace: Trace;
  /** for people: `containerd 1.6.20` */
  readonly runtime: string;
  readonly lab: LabRuntime | undefined;
}

/**
 * Serves `pleg --http`: the live page of its window, and the same for scripts.
 *
 * GET /state PLEG's records and the runtime's state, as JSON POST /actions/ID?target=CONTAINER does it
 *
 * @throws LabError USAGE if it cannot listen
 */
export async function servePlegPage(deps: PageDeps, window: LiveWindow, address: HttpAddress): Promise<LiveServer> {
  const { pleg, runtime, lab } = deps;
  const endpoints = {
    state: () => pageState(pleg, runtime, lab),
    post: (url: URL) => {
      const actionId = /^\/actions\/([a-z0-9-]+)$/.exec(url.pathname)?.[1];
      return actionId === undefined ? undefined : () => act(deps, actionId, url.searchParams);
    },
  };
  const page = await servePage(deps.trace, window, endpoints, address);
  deps.trace.emit({ kind: "note", text: `Page: ${page.url}` }, { actor: "user" });
  return page;
}

async function act({ lab, trace }: PageDeps, actionId: string, query: URLSearchParams): Promise<LiveAnswer> {
  if (lab === undefined) {
    return { status: 403, body: { error: "this is a real runtime: it is looked at, and never changed" } };
  }
  const names = [...query.keys()];
  const unknown = names.find((name) => name !== "target");
  if (unknown !== undefined || names.length > 1) {
    const message = `an action takes one target and nothing else, and was given ${unknown ?? "several targets"}`;
    throw new LabError("USAGE", message, `Write it as POST /actions/${actionId}?target=CONTAINER.`);
  }
  const did = await lab.act(actionId, query.get("target") ?? undefined);
  trace.emit({ kind: "note", text: did }, { actor: "user" });
  return { status: 200, body: { did } };
}
