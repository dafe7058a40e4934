import { nameOf, type Scale } from "../../../staging/apimachinery/api/objects.js";
import { StatusError } from "../../../staging/apimachinery/errors.js";
import { parseLabelSelector } from "../../../staging/apimachinery/label-selector.js";
import { sameJson } from "../../../staging/apimachinery/same-json.js";
import type { EventRecorder } from "../../../staging/client-go/record/recorder.js";
import { referenceTo } from "../../../staging/client-go/record/reference.js";
import { messageOf } from "../../../util/errors.js";
import { isSet } from "../../../util/records.js";
import type { SharedDeps } from "../support/shared-deps.js";
import { decide } from "../support/sync-loop.js";
import { computeReplicasForMetrics } from "./compute-replicas.js";
import { type NormalizationArg, normalizeDesiredReplicas, normalizeDesiredReplicasWithBehaviors } from "./normalize.js";
import { type ReplicaCalculator, TOLERANCE } from "./replica-calculator.js";
import { getScaleTarget } from "./scale-target.js";
import type { ScalingHistory } from "./scaling-history.js";
import { type Hpa, type MetricStatus, StatusBuilder } from "./status.js";

const FILE = "pkg/controller/podautoscaler/horizontal.go";
export const AUTOSCALERS = "horizontalpodautoscalers.autoscaling";
/** A decision that changes nothing comes every 15 seconds. */
const QUIET = 2;

export interface ReconcileDeps extends Pick<SharedDeps, "client" | "clock" | "trace" | "definitions"> {
  readonly recorder: EventRecorder;
  readonly calculator: ReplicaCalculator;
}

/** What is to be done, and why. */
interface Plan {
  readonly replicas: number;
  /** of the event: `All metrics below target` */
  readonly reason: string;
  readonly metrics: readonly MetricStatus[] | null;
  /** the numbers behind it, for the trace */
  readonly why: string;
}

/**
 * Compares the metrics of an autoscaler's target with what it should use, and scales it.
 * Mirrors reconcileAutoscaler.
 * @throws Error if it could not be done; the autoscaler's conditions and events show why
 */
export async function reconcileAutoscaler(deps: ReconcileDeps, hpa: Hpa, history: ScalingHistory): Promise<void> {
  const { client, clock, definitions, recorder } = deps;
  const status = new StatusBuilder(hpa, clock.now());
  const about = referenceTo(hpa);
  const target = await getScaleTarget(client, definitions, hpa);
  if (target.outcome === "failed") {
    const { message, problem } = target;
    recorder.event(about, "Warning", "FailedGetScale", message);
    const shown = `the HPA controller was unable to get the target's current scale: ${message}`;
    status.set({ type: "AbleToScale", status: "False", reason: "FailedGetScale", message: shown });
    await updateStatusIfNeeded(deps, hpa, status.conditionsOnly());
    throw new Error(`${problem}: ${message}`);
  }
  const found = "the HPA controller was able to get the target's current scale";
  status.set({ type: "AbleToScale", status: "True", reason: "SucceededGetScale", message: found });
  const { scale, resource } = target;
  history.begin(scale.spec?.replicas ?? 0, clock.now());
  const plan = await planFor(deps, hpa, scale, history, status);
  if (plan === undefined) await keepAtZero(deps, hpa, status);
  else if (plan.replicas === scale.spec?.replicas) await keep(deps, hpa, plan, status);
  else await rescale(deps, hpa, { scale, resource }, plan, history, status);
}

/** @returns undefined if the target was scaled to zero, which turns the autoscaler off */
async function planFor(
  deps: ReconcileDeps,
  hpa: Hpa,
  scale: Scale,
  history: ScalingHistory,
  status: StatusBuilder,
): Promise<Plan | undefined> {
  const currentReplicas = scale.spec?.replicas ?? 0;
  const { maxReplicas = 0 } = hpa.spec ?? {};
  const minReplicas = hpa.spec?.minReplicas ?? 1;
  if (currentReplicas === 0 && minReplicas !== 0) return undefined;
  if (currentReplicas > maxReplicas) {
    const why = `${currentReplicas} > maxReplicas ${maxReplicas}`;
    return { replicas: maxReplicas, reason: "Current number of replicas above Spec.MaxReplicas", metrics: null, why };
  }
  if (currentReplicas < minReplicas) {
    const why = `${currentReplicas} < minReplicas ${minReplicas}`;
    return { replicas: minReplicas, reason: "Current number of replicas below Spec.MinReplicas", metrics: null, why };
  }
  const computed = await compute(deps, hpa, scale, status);
  const { replicas: desiredReplicas, metric, statuses } = computed;
  const above = `${metric} above target`;
  const reason = desiredReplicas > currentReplicas ? above : "All metrics below target";
  const { behavior } = hpa.spec ?? {};
  const nowMs = deps.clock.now();
  const arg: NormalizationArg = { minReplicas, maxReplicas, currentReplicas, desiredReplicas, history, nowMs };
  const { replicas, conditions, steps } = isSet(behavior)
    ? normalizeDesiredReplicasWithBehaviors(arg, behavior)
    : normalizeDesiredReplicas(arg);
  status.set(...conditions);
  return { replicas, reason, metrics: statuses, why: [computed.why, ...steps].join("; ") };
}

/** @throws Error after the failure is in the status */
async function compute(deps: ReconcileDeps, hpa: Hpa, { spec, status: scaleStatus }: Scale, status: StatusBuilder) {
  const { recorder, calculator } = deps;
  const about = referenceTo(hpa);
  const warn = (reason: string, message: string) => recorder.event(about, "Warning", reason, message);
  const currentReplicas = spec?.replicas ?? 0;
  const selector = scaleStatus?.selector ?? "";
  const problem = selectorProblem(selector);
  if (problem !== undefined) warn(problem.event, problem.message);
  const computed =
    problem === undefined
      ? await computeReplicasForMetrics({ calculator, warn }, hpa, { currentReplicas, selector })
      : {
          outcome: "failed" as const,
          condition: { type: "ScalingActive", status: "False", reason: "InvalidSelector", message: problem.shown },
          message: problem.message,
        };
  if (computed.outcome === "computed") {
    const message = `the HPA was able to successfully calculate a replica count from ${computed.metric}`;
    status.set({ type: "ScalingActive", status: "True", reason: "ValidMetricFound", message });
    return computed;
  }
  status.set(computed.condition);
  await updateStatusIfNeeded(deps, hpa, status.failed(currentReplicas));
  warn("FailedComputeMetricsReplicas", computed.message);
  const what = "failed to compute desired number of replicas based on listed metrics for";
  throw new Error(`${what} ${referenceText(hpa)}: ${computed.message}`);
}

function selectorProblem(selector: string) {
  if (selector === "") {
    const shown = "the HPA target's scale is missing a selector";
    return { event: "SelectorRequired", message: "selector is required", shown };
  }
  try {
    parseLabelSelector(selector);
    return undefined;
  } catch (error) {
    const message = `couldn't convert selector into a corresponding internal selector object: ${messageOf(error)}`;
    return { event: "InvalidSelector", message, shown: message };
  }
}

async function keepAtZero(deps: ReconcileDeps, hpa: Hpa, status: StatusBuilder): Promise<void> {
  const message = "scaling is disabled since the replica count of the target is zero";
  status.set({ type: "ScalingActive", status: "False", reason: "ScalingDisabled", message });
  await keep(deps, hpa, { replicas: 0, reason: "", metrics: null, why: message }, status);
}

async function keep(deps: ReconcileDeps, hpa: Hpa, plan: Plan, status: StatusBuilder): Promise<void> {
  const { replicas, metrics, why } = plan;
  const next = status.done({ currentReplicas: replicas, desiredReplicas: replicas, metrics, isRescaled: false });
  const decision = { what: `keep ${referenceText(hpa)} at ${replicas} replicas`, why, ...MIRRORED };
  await decide(deps.trace, decision, () => updateStatusIfNeeded(deps, hpa, next), QUIET);
}

const MIRRORED = {
  constants: [{ name: "horizontal-pod-autoscaler-tolerance", value: String(TOLERANCE) }],
  upstream: { file: FILE, func: "reconcileAutoscaler" },
};

async function rescale(
  deps: ReconcileDeps,
  hpa: Hpa,
  { scale, resource }: { readonly scale: Scale; readonly resource: string },
  { replicas, reason, metrics, why }: Plan,
  history: ScalingHistory,
  status: StatusBuilder,
): Promise<void> {
  const { client, clock, recorder, trace } = deps;
  const currentReplicas = scale.spec?.replicas ?? 0;
  const about = referenceTo(hpa);
  const what = `scale ${referenceText(hpa)} from ${currentReplicas} to ${replicas} replicas`;
  await decide(trace, { what, why: `${reason}: ${why}`, ...MIRRORED }, async () => {
    try {
      await client.update(resource, { ...scale, spec: { replicas } }, "scale");
    } catch (error) {
      if (!(error instanceof StatusError)) throw error;
      const failure = messageOf(error);
      recorder.event(about, "Warning", "FailedRescale", `New size: ${replicas}; reason: ${reason}; error: ${failure}`);
      const message = `the HPA controller was unable to update the target scale: ${failure}`;
      status.set({ type: "AbleToScale", status: "False", reason: "FailedUpdateScale", message });
      await updateStatusIfNeeded(deps, hpa, status.failed(currentReplicas));
      throw new Error(`failed to rescale ${referenceText(hpa)}: ${failure}`);
    }
    const message = `the HPA controller was able to update the target scale to ${replicas}`;
    status.set({ type: "AbleToScale", status: "True", reason: "SucceededRescale", message });
    recorder.event(about, "Normal", "SuccessfulRescale", `New size: ${replicas}; reason: ${reason}`);
    history.scaled(currentReplicas, replicas, clock.now());
    const next = status.done({ currentReplicas, desiredReplicas: replicas, metrics, isRescaled: true });
    await updateStatusIfNeeded(deps, hpa, next);
  });
}

/** Mirrors updateStatusIfNeeded and updateStatus. @throws Error if the API server refuses it */
async function updateStatusIfNeeded(deps: ReconcileDeps, hpa: Hpa, status: Hpa["status"]): Promise<void> {
  if (sameJson(hpa.status, status)) return;
  try {
    await deps.client.update(AUTOSCALERS, { ...hpa, status } as Hpa, "status");
  } catch (error) {
    if (!(error instanceof StatusError)) throw error;
    const message = messageOf(error);
    deps.recorder.event(referenceTo(hpa), "Warning", "FailedUpdateStatus", message);
    throw new Error(`failed to update status for ${nameOf(hpa)}: ${message}`, { cause: error });
  }
}

/** `Deployment/default/web` */
function referenceText({ metadata, spec }: Hpa): string {
  const { kind = "", name = "" } = spec?.scaleTargetRef ?? {};
  return `${kind}/${metadata.namespace}/${name}`;
}
