import type { Clock } from "../../../util/clock.js";
import type { SpecialHandler, SpecialHandlers } from "../../apiserver/special.js";
import type { AdmissionPlugin } from "../../auth/contracts.js";
import { componentStatuses } from "./component-statuses.js";
import { bindingHandler } from "./pods/binding.js";
import { evictPod } from "./pods/eviction.js";
import { admitSpecial, type SpecialTarget } from "./special-admission.js";
import { type TokenIssuer, tokenRequestHandler } from "./token-request.js";

export interface SpecialHandlerDeps {
  readonly clock: Clock;
  readonly tokens: TokenIssuer;
  /** read at each request */
  readonly admission: readonly AdmissionPlugin[];
}

/** The handlers of all requests that are not plain reads and writes, except reviews, which auth handles. */
export function createSpecialHandlers({ clock, tokens, admission }: SpecialHandlerDeps): SpecialHandlers {
  const admitted =
    (target: SpecialTarget, handler: SpecialHandler): SpecialHandler =>
    async (request) => {
      const body = await admitSpecial(admission, request, target);
      return handler({ ...request, body });
    };
  const pods = (subresource: string, kind: string): SpecialTarget => ({ resource: "pods", subresource, kind });
  const binding = bindingHandler(clock);
  return new Map<string, SpecialHandler>([
    ["POST bindings", binding],
    ["POST pods/binding", binding],
    ["POST pods/eviction", admitted(pods("eviction", "Eviction"), evictPod)],
    ["POST serviceaccounts/token", tokenRequestHandler({ clock, tokens, admission })],
    ["GET componentstatuses", componentStatuses],
  ]);
}
