import type { AdmissionPlugin } from "../../../staging/server/admission/interfaces.js";
import type { HealthCheck } from "../../../staging/server/healthz.js";
import { componentStatuses } from "./core/component-statuses.js";
import { bindingHandler } from "./core/pods/binding.js";
import { type EvictionDeps, evictionHandler } from "./core/pods/eviction.js";
import { type TokenIssuer, tokenRequestHandler } from "./core/token-request.js";
import type { ActionHandler, ActionHandlers } from "./rest/action.js";
import { type ActionTarget, admitAction } from "./rest/action-admission.js";

export interface ActionHandlerDeps extends EvictionDeps {
  readonly tokens: TokenIssuer;
  /** read at each request */
  readonly admission: readonly AdmissionPlugin[];
  /** the parts of the control plane that ComponentStatuses report */
  readonly components: readonly HealthCheck[];
}

/** The handlers of all requests that are not plain reads and writes, except reviews, which auth handles. */
export function createActionHandlers(deps: ActionHandlerDeps): ActionHandlers {
  const { clock, tokens, admission, components } = deps;
  const admitted =
    (target: ActionTarget, handler: ActionHandler): ActionHandler =>
    async (request) => {
      const body = await admitAction(admission, request, target);
      return handler({ ...request, body });
    };
  const pods = (subresource: string, kind: string): ActionTarget => ({ resource: "pods", subresource, kind });
  const binding = bindingHandler(clock);
  return new Map<string, ActionHandler>([
    ["POST bindings", binding],
    ["POST pods/binding", binding],
    ["POST pods/eviction", admitted(pods("eviction", "Eviction"), evictionHandler(deps))],
    ["POST serviceaccounts/token", tokenRequestHandler({ clock, tokens, admission })],
    ["GET componentstatuses", componentStatuses(components)],
  ]);
}
