import type { V1Eviction } from "@kubernetes/client-node";
import type { KubeObject } from "../../../../../staging/apimachinery/api/meta.js";
import type { DeleteOptions } from "../../../../../staging/apimachinery/api/options.js";
import { isPodPhaseTerminal, withDisruptionTarget } from "../../../../../staging/apimachinery/api/pod.js";
import { badRequest, internalError, StatusError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import type { Trace } from "../../../../../trace/trace.js";
import type { Clock } from "../../../../../util/clock.js";
import { defined } from "../../../../../util/defined.js";
import { factFor } from "../../../../../util/release/facts.js";
import type { ActionHandler, ActionRequest } from "../../rest/action.js";
import { checkPreconditions } from "../../rest/deletion-plan.js";
import { CREATED } from "./binding.js";
import { API_SERVER, budgetOf, checkAndDecrement, isUnguarded, type Pod, stillProcessed } from "./disruption-budget.js";

type Eviction = Wire<V1Eviction>;

const UPSTREAM = { file: "pkg/registry/core/pod/storage/eviction.go", func: "Create, checkAndDecrement" };
/** Mirrors EvictionsRetry, without its jitter. */
const RETRY = { steps: 20, delayMs: 500 };

export interface EvictionDeps {
  readonly clock: Clock;
  readonly trace: Trace;
  readonly kubeVersion: string;
}

/**
 * Deletes a pod if its disruption budget allows that. The budget has one disruption less until the disruption controller has seen
 * that the pod ends. Mirrors pkg/registry/core/pod/storage/eviction.go (EvictionREST.Create).
 * Differs: that a pod has several budgets is an HTTP status of 500, not only a code in a body that is 201.
 */
export function evictionHandler(deps: EvictionDeps): ActionHandler {
  return async (request) => {
    const { namespace, name = "", body } = request;
    if (body !== undefined && (body.metadata.name ?? "") !== name) {
      throw badRequest("name in URL does not match name in Eviction object");
    }
    const context = { ...request.context, dryRun: isDryRun(request) };
    await new PodEviction(
      deps,
      { ...request, context, namespace, name },
      deleteOptions(body as Eviction | undefined),
    ).run();
    return CREATED;
  };
}

/** Both the query and the body can request a dry run: `kubectl drain` uses the body. Mirrors propagateDryRun. */
function isDryRun({ context, body, query }: ActionRequest): boolean {
  const inBody = (body as Eviction | undefined)?.deleteOptions?.dryRun ?? [];
  const inQuery = query.getAll("dryRun");
  if (inBody.length > 0 && inQuery.length > 0 && inBody.join() !== inQuery.join()) {
    const both = `[${inQuery.join(" ")}] and [${inBody.join(" ")}]`;
    throw internalError(`Non-matching dry-run options in request and content: ${both}`);
  }
  return context.dryRun === true || inBody.length > 0;
}

function deleteOptions(eviction: Eviction | undefined): DeleteOptions {
  const { gracePeriodSeconds, preconditions, propagationPolicy } = eviction?.deleteOptions ?? {};
  const { uid, resourceVersion } = preconditions ?? {};
  return defined({
    gracePeriodSeconds,
    propagationPolicy: propagationPolicy || undefined,
    preconditions: preconditions && defined({ uid, resourceVersion }),
  });
}

class PodEviction {
  constructor(
    readonly deps: EvictionDeps,
    readonly request: ActionRequest & { readonly name: string },
    readonly options: DeleteOptions,
  ) {}

  async run(): Promise<void> {
    const pod = await this.#deleteIfUnguarded();
    if (pod === undefined) return;
    const budget = await budgetOf(this.request.registry, pod);
    if (budget === undefined) return this.#delete("it has no disruption budget", this.options);
    if (!isUnguarded(pod, budget, this.deps.kubeVersion)) {
      const { clock } = this.deps;
      const why = await this.#retried(() =>
        checkAndDecrement(this.request, pod, budget.metadata.name ?? "", clock.now()),
      );
      return this.#delete(why, this.options);
    }
    // It must not have become ready since.
    const options = this.#hasVersion ? this.options : withVersion(this.options, pod);
    try {
      await this.#delete(`it is not ready, so disruption budget ${budget.metadata.name} does not guard it`, options);
    } catch (error) {
      throw isConflict(error) && !this.#hasVersion ? stillProcessed(budget) : error;
    }
  }

  get #hasVersion(): boolean {
    return this.options.preconditions?.resourceVersion !== undefined;
  }

  /** Deletes a pod that does not run, or ends already: it is disrupted anyhow. @returns any other pod */
  #deleteIfUnguarded(): Promise<Pod | undefined> {
    const attempt = async () => {
      const { registry, namespace, name } = this.request;
      const pod = (await registry.store("pods").get(namespace, name)) as Pod;
      const { phase } = pod.status ?? {};
      const isEnding = isPodPhaseTerminal(phase) || pod.metadata.deletionTimestamp !== undefined;
      if (!isEnding && phase !== "Pending") return pod;
      const options = isEnding || this.#hasVersion ? this.options : withVersion(this.options, pod);
      await this.#delete(isEnding ? "it has ended or is ending" : "it does not run yet", options);
      return undefined;
    };
    return this.#hasVersion ? attempt() : this.#retried(attempt);
  }

  /** Tries again after a conflict, 20 times at most. */
  async #retried<T>(attempt: () => Promise<T>): Promise<T> {
    for (let step = 1; ; step++) {
      try {
        return await attempt();
      } catch (error) {
        if (!isConflict(error) || step === RETRY.steps) throw error;
        await this.deps.clock.sleep(RETRY.delayMs, this.request.context.signal);
      }
    }
  }

  async #delete(why: string, options: DeleteOptions): Promise<void> {
    const { trace } = this.deps;
    const { namespace, name, context } = this.request;
    const what = `evict pod ${namespace}/${name}${context.dryRun === true ? " (dry run)" : ""}`;
    const fact = { kind: "decision", what, why, upstream: UPSTREAM } as const;
    const { id } = trace.emit(fact, { actor: "apiserver", level: 2 });
    await trace.because({ causedBy: id }, () => this.#addConditionAndDelete(options));
  }

  /** Mirrors addConditionAndDeletePod (since v1.26). */
  async #addConditionAndDelete(options: DeleteOptions): Promise<void> {
    const { clock, kubeVersion } = this.deps;
    const { context, registry, namespace, name } = this.request;
    const pods = registry.store("pods");
    if (context.dryRun === true || !factFor("podDisruptionConditions", kubeVersion)) {
      await pods.delete(context, namespace, name, options);
      return;
    }
    const { object } = await pods.update({ ...context, user: API_SERVER }, namespace, name, "status", (current) => {
      const pod = current as Pod;
      checkPreconditions(pods.definition, pod, options);
      return withDisruptionTarget(pod, "EvictionByEvictionAPI", "Eviction API: evicting", clock.now());
    });
    const isVersioned = options.preconditions?.resourceVersion !== undefined;
    await pods.delete(context, namespace, name, isVersioned ? withVersion(options, object) : options);
  }
}

function withVersion(options: DeleteOptions, { metadata: { resourceVersion } }: KubeObject): DeleteOptions {
  return { ...options, preconditions: defined({ ...options.preconditions, resourceVersion }) };
}

function isConflict(error: unknown): boolean {
  return error instanceof StatusError && error.reason === "Conflict";
}
