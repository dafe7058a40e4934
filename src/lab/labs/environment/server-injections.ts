import type { RequestMatch } from "../../../cluster/apiserver/endpoints/faults/request-match.js";
import { type ServerFaults, TLS_FAULTS } from "../../../cluster/apiserver/endpoints/faults/server-faults.js";
import { WATCH_FAULTS } from "../../../cluster/apiserver/endpoints/faults/watch-faults.js";
import { DNS_FAULTS, type DnsFaults } from "../../../cluster/dns/dns-faults.js";
import { defined } from "../../../util/defined.js";
import { MessageError } from "../../../util/i18n/message-error.js";
import type { InjectionArguments } from "./environment.js";
import { number, oneOf, text } from "./injection-arguments.js";

const NAMES = ["api-fault", "watch-fault", "slow-storage", "stream-cut", "stream-stall", "tls-fault"];

/** Whether an injection is a fault of the API server. */
export function isServerFault(name: string): boolean {
  return NAMES.includes(name);
}

/** Sets or takes back a fault of the API server. @throws LabError USAGE on a real cluster */
export async function setServerFault(
  given: ServerFaults | undefined,
  name: string,
  args: InjectionArguments,
): Promise<void> {
  const faults = embeddedFaults(given, name);
  if (name === "tls-fault") {
    return faults.setCertificate(args["how"] === undefined ? undefined : oneOf(args, "how", TLS_FAULTS));
  }
  if (name === "stream-cut") faults.cutStreams(matchOf(args));
  else if (name === "stream-stall") faults.stallStreams(matchOf(args), args["over"] !== true);
  else if (name === "slow-storage") faults.writes.set(number(args, "delayMs") ?? 0);
  else if (name === "watch-fault") setWatchFault(faults, args);
  else setRequestFault(faults, args);
}

/** Sets or takes back a fault of the cluster's name server. @throws LabError USAGE on a real cluster */
export function setDnsFault(given: DnsFaults | undefined, args: InjectionArguments): void {
  const how = args["how"] === undefined ? undefined : oneOf(args, "how", DNS_FAULTS);
  const delayMs = number(args, "delayMs");
  const isFault = how !== undefined || delayMs !== undefined;
  embeddedFaults(given, "dns-fault").set(text(args, "name") ?? "", isFault ? defined({ how, delayMs }) : undefined);
}

/** @param name of the injection @throws LabError USAGE on a real cluster */
export function embeddedFaults<T>(faults: T | undefined, name: string): T {
  if (faults !== undefined) return faults;
  throw new MessageError("USAGE", ["injectionNotReal", { name }], ["injectionNotRealHint"]);
}

function setWatchFault(faults: ServerFaults, args: InjectionArguments): void {
  const how = args["how"] === undefined ? undefined : oneOf(args, "how", WATCH_FAULTS);
  const count = number(args, "count");
  faults.watches.set(matchOf(args), how === undefined ? undefined : { how, ...defined({ count }) });
}

function setRequestFault(faults: ServerFaults, args: InjectionArguments): void {
  const code = number(args, "code");
  const delayMs = number(args, "delayMs");
  const retryAfterSeconds = number(args, "retryAfterSeconds");
  const drops = args["drops"] === true;
  const isFault = code !== undefined || delayMs !== undefined || drops;
  const fault = { drops, ...defined({ code, delayMs, retryAfterSeconds, count: number(args, "count") }) };
  faults.requests.set(matchOf(args), isFault ? fault : undefined);
}

/** A node stands for the user of its kubelet. */
function matchOf(args: InjectionArguments): RequestMatch {
  const node = text(args, "node");
  return defined({
    user: node === undefined ? text(args, "user") : `system:node:${node}`,
    verb: text(args, "verb"),
    resource: text(args, "resource"),
    namespace: text(args, "namespace"),
    name: text(args, "name"),
  });
}
