import { type Evaluator, objectCountEvaluator } from "./evaluator.js";
import { claimEvaluator } from "./persistent-volume-claims.js";
import { podEvaluator } from "./pods.js";
import { serviceEvaluator } from "./services.js";

/** Kinds that quotas counted before there were names for all of them. */
const WITH_ALIAS = ["configmaps", "resourcequotas", "replicationcontrollers", "secrets"];

/** The objects of these are never counted. Mirrors ignoredResources in pkg/quota/v1/install/registry.go. */
export const IGNORED_RESOURCES: readonly string[] = [
  "bindings",
  "componentstatuses",
  "events",
  "tokenreviews.authentication.k8s.io",
  "subjectaccessreviews.authorization.k8s.io",
  "selfsubjectaccessreviews.authorization.k8s.io",
  "localsubjectaccessreviews.authorization.k8s.io",
  "selfsubjectrulesreviews.authorization.k8s.io",
];

/** The evaluators by resource; those that only count objects are made when they are needed. */
export class Evaluators {
  readonly #byResource: Map<string, Evaluator>;

  /** Mirrors NewEvaluators in pkg/quota/v1/evaluator/core/registry.go. */
  constructor(clock: { now(): number }) {
    const all = [
      podEvaluator(clock),
      serviceEvaluator,
      claimEvaluator,
      ...WITH_ALIAS.map((resource) => objectCountEvaluator(resource, resource)),
    ];
    this.#byResource = new Map(all.map((one) => [one.resource, one]));
  }

  /** @param resource `pods`, `deployments.apps` */
  of(resource: string): Evaluator {
    const known = this.#byResource.get(resource);
    if (known !== undefined) return known;
    const made = objectCountEvaluator(resource);
    this.#byResource.set(resource, made);
    return made;
  }
}
