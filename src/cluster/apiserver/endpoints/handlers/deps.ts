import type { Trace } from "../../../../trace/trace.js";
import type { Clock } from "../../../../util/clock.js";
import type { Random } from "../../../../util/random.js";
import type { ActionHandlers } from "../../registry/rest/action.js";
import type { Registry } from "../../registry/rest/registry.js";
import type { Connecters } from "../connect.js";
import type { DispatchReport } from "../dispatch-report.js";
import type { ServerFaults } from "../faults/server-faults.js";
import type { Metrics } from "../metrics.js";
import type { Presenter } from "../responsewriters/show.js";
import type { Appliers } from "./apply.js";

/** The dependencies of the handlers of resource paths. */
export interface HandlerDeps {
  readonly registry: Registry;
  readonly presenter: Presenter;
  readonly actions: ActionHandlers;
  readonly connecters: Connecters;
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Metrics;
  /** which manager applied which fields */
  readonly appliers: Appliers;
  /** receives each event that a client gets */
  readonly dispatches: DispatchReport;
  /** ends every open watch when the server closes */
  readonly closing: AbortSignal;
  /** faults of requests and watches */
  readonly faults?: ServerFaults;
  readonly trace: Trace;
}
