import type { KubeObject } from "../../../../apimachinery/api/meta.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { factFor } from "../../../../release/facts.js";
import { type Fields, fields, items, text } from "../access.js";
import { forbidden, notSupported } from "../field-errors.js";

/**
 * An init container with `restartPolicy: Always` is a sidecar: it keeps running. Since v1.29; older releases drop the
 * field.
 * Mirrors pkg/api/pod/util.go (dropDisabledFields) and pkg/apis/core/validation/validation.go
 * (validateInitContainerRestartPolicy).
 */

const KINDS = ["containers", "initContainers"] as const;

function hasRestartPolicies({ containers, initContainers }: Fields): boolean {
  return items(containers).some(hasRestartPolicy) || items(initContainers).some(hasRestartPolicy);
}

function hasRestartPolicy(container: unknown): boolean {
  return fields(container).restartPolicy !== undefined;
}

/** A release does not store fields that it does not know. */
export function withoutUnknownRestartPolicies(pod: KubeObject, kubeVersion: string): KubeObject {
  const spec = fields(pod.spec);
  if (!hasRestartPolicies(spec) || factFor("sidecarContainers", kubeVersion)) return pod;
  const without = (one: unknown) => {
    const { restartPolicy: _unknown, ...others } = fields(one);
    return others;
  };
  const lists = KINDS.flatMap((kind) => (spec[kind] === undefined ? [] : [[kind, items(spec[kind]).map(without)]]));
  return { ...pod, spec: { ...spec, ...Object.fromEntries(lists) } };
}

/** Only init containers can have a restartPolicy, and only Always. */
export function validateContainerRestartPolicies(spec: Fields): FieldError[] {
  if (!hasRestartPolicies(spec)) return [];
  return KINDS.flatMap((kind) =>
    items(spec[kind]).flatMap((one, index) => {
      const policy = fields(one).restartPolicy;
      if (policy === undefined) return [];
      const field = `spec.${kind}[${index}].restartPolicy`;
      if (kind === "containers") return [forbidden(field, "may not be set for non-init containers")];
      return policy === "Always" ? [] : [notSupported(field, text(policy), ["Always"])];
    }),
  );
}
