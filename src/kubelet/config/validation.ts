import type { V1Container, V1Pod } from "../../staging/apimachinery/api/pod.js";

const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;
const DNS_SUBDOMAIN = /^(?=.{1,253}$)[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const RESTART_POLICIES = ["Always", "OnFailure", "Never"];

/**
 * Finds problems of a manifest whose fields have the right types (see type-problems.ts). Pure.
 *
 * Mirrors pkg/apis/core/validation/validation.go (ValidatePodCreate).
 * Differs: checks names, containers, images, volumes and the restart policy, where hand-written manifests usually go
 * wrong; any other problem shows up when the mirror pod is created.
 *
 * @returns one line for each problem, with the field's path
 */
export function validatePod({ metadata, spec }: V1Pod): string[] {
  const problems: string[] = [];
  const check = (isRight: boolean, problem: string) => {
    if (!isRight) problems.push(problem);
  };
  check(DNS_SUBDOMAIN.test(metadata.name), invalid("metadata.name", metadata.name, "a DNS subdomain in lower case"));
  const { namespace } = metadata;
  check(namespace === "" || DNS_LABEL.test(namespace), invalid("metadata.namespace", namespace, "a DNS label"));
  const { restartPolicy } = spec;
  const grace = spec.terminationGracePeriodSeconds ?? 0;
  check(
    !restartPolicy || RESTART_POLICIES.includes(restartPolicy),
    `spec.restartPolicy: Unsupported value: ${JSON.stringify(restartPolicy)}`,
  );
  check(
    Number.isInteger(grace) && grace >= 0,
    invalid("spec.terminationGracePeriodSeconds", grace, "a whole number that is not negative"),
  );
  check((spec.containers ?? []).length > 0, "spec.containers: Required value");
  return [...problems, ...validateContainers(spec.containers ?? [], spec.initContainers ?? [], spec["volumes"])];
}

function validateContainers(
  containers: readonly V1Container[],
  initContainers: readonly V1Container[],
  volumes: unknown,
): string[] {
  const problems: string[] = [];
  const names = new Set<string>();
  const volumeNames = new Set(listOf(volumes).map(nameOf));
  const check = (container: V1Container, path: string) => {
    const { name, image, volumeMounts } = container ?? {};
    if (typeof name !== "string" || !DNS_LABEL.test(name)) problems.push(invalid(`${path}.name`, name, "a DNS label"));
    else if (names.has(name)) problems.push(`${path}.name: Duplicate value: ${JSON.stringify(name)}`);
    names.add(name);
    if (typeof image !== "string" || image.trim() === "") problems.push(`${path}.image: Required value`);
    for (const [i, mount] of listOf(volumeMounts).entries()) {
      const volume = nameOf(mount);
      if (!volumeNames.has(volume)) {
        problems.push(`${path}.volumeMounts[${i}].name: Not found: ${JSON.stringify(volume)}`);
      }
    }
  };
  for (const [i, container] of initContainers.entries()) check(container, `spec.initContainers[${i}]`);
  for (const [i, container] of containers.entries()) check(container, `spec.containers[${i}]`);
  return problems;
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

function nameOf(value: unknown): unknown {
  return (value as { readonly name?: unknown } | null)?.name;
}

function invalid(path: string, value: unknown, wanted: string): string {
  return `${path}: Invalid value: ${JSON.stringify(value ?? "")}: must be ${wanted}`;
}
