import { join } from "node:path";
import type { RestConfig } from "../../staging/client-go/rest/client.js";
import { createClient } from "../../staging/client-go/rest/create-client.js";
import type { Ctx } from "../../trace/ctx.js";
import { Trace } from "../../trace/trace.js";
import { Disposables } from "../../util/async/disposables.js";
import type { SystemClock } from "../../util/clock.js";
import { makeTemporaryFolder, removeOwn } from "../../util/os/temporary-folder.js";
import { HeldTime } from "./held-time.js";
import { serveTime } from "./serve.js";

/** A clock that other commands of this user can hold. */
export interface ServedClock extends AsyncDisposable {
  readonly clock: SystemClock;
  /** path of its socket */
  readonly socket: string;
}

/** Lets other commands hold the clock of an embedded cluster. @param admin reads the objects of conditions @param onMoved see `TimeDeps` */
export async function serveClock(
  { clock, random, trace }: Ctx & { readonly clock: SystemClock },
  admin: RestConfig,
  onMoved: () => Promise<void>,
  signal: AbortSignal,
): Promise<ServedClock> {
  const opened = new Disposables();
  const client = createClient(admin, { clock, random, trace: new Trace(clock), actor: "user" });
  opened.defer(async () => client[Symbol.asyncDispose]());
  const folder = await makeTemporaryFolder("time");
  opened.defer(() => removeOwn(folder));
  const socket = join(folder, "time.sock");
  const serving = await serveTime({ time: new HeldTime(clock), client, trace, onMoved }, socket, signal);
  opened.defer(async () => serving[Symbol.asyncDispose]());
  return { clock, socket, [Symbol.asyncDispose]: () => opened.close() };
}
