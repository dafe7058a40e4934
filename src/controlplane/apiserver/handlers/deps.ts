import type { Clock } from "../../../util/clock.js";
import type { Random } from "../../../util/random.js";
import type { Registry } from "../../registry/registry.js";
import type { Appliers } from "../apply.js";
import type { Connecters } from "../connect.js";
import type { Metrics } from "../metrics.js";
import type { Presenter } from "../show.js";
import type { SpecialHandlers } from "../special.js";

/** What the handlers of resource paths work with. */
export interface HandlerDeps {
  readonly registry: Registry;
  readonly presenter: Presenter;
  readonly specials: SpecialHandlers;
  readonly connecters: Connecters;
  readonly clock: Clock;
  readonly random: Random;
  readonly counters: Metrics;
  /** who applied which fields */
  readonly appliers: Appliers;
  /** ends every open watch when the server closes */
  readonly closing: AbortSignal;
}
