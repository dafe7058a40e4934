import type { V1Pod } from "@kubernetes/client-node";
import type { V1Container, V1PodSpec } from "../../../../../staging/apimachinery/api/pod.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { factFor } from "../../../../../util/release/facts.js";
import { forbidden, notSupported } from "../../rest/field-errors.js";

/**
 * An init container with `restartPolicy: Always` is a sidecar: it keeps running. Since v1.29; older releases drop the
 * field.
 * Mirrors pkg/api/pod/util.go (dropDisabledFields) and pkg/apis/core/validation/validation.go
 * (validateInitContainerRestartPolicy).
 */

const KINDS = ["containers", "initContainers"] as const;

function hasRestartPolicies(spec: Partial<V1PodSpec>): boolean {
  return KINDS.some((kind) => spec[kind]?.some(({ restartPolicy }) => restartPolicy !== undefined));
}

/** A release does not store fields that it does not know. */
export function withoutUnknownRestartPolicies(pod: Wire<V1Pod>, kubeVersion: string): Wire<V1Pod> {
  const { spec } = pod;
  if (spec === undefined || !hasRestartPolicies(spec) || factFor("sidecarContainers", kubeVersion)) return pod;
  const without = ({ restartPolicy: _unknown, ...others }: V1Container) => others;
  const lists = KINDS.flatMap((kind) => (spec[kind] === undefined ? [] : [[kind, (spec[kind] ?? []).map(without)]]));
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
}

/** Only init containers can have a restartPolicy, and only Always. */
export function validateContainerRestartPolicies(spec: Partial<V1PodSpec>): FieldError[] {
  if (!hasRestartPolicies(spec)) return [];
  return KINDS.flatMap((kind) =>
    (spec[kind] ?? []).flatMap(({ restartPolicy: policy }, index) => {
      if (policy === undefined) return [];
      const field = `spec.${kind}[${index}].restartPolicy`;
      if (kind === "containers") return [forbidden(field, "may not be set for non-init containers")];
      return policy === "Always" ? [] : [notSupported(field, policy, ["Always"])];
    }),
  );
}
