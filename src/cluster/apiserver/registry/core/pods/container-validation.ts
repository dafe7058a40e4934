import type { V1EphemeralContainer } from "@kubernetes/client-node";
import {
  isDns1123Label,
  isEnvVarName,
  isPortName,
  isPortNumber,
  isQualifiedName,
} from "../../../../../staging/apimachinery/api/names.js";
import type { V1Container, V1PodSpec } from "../../../../../staging/apimachinery/api/pod.js";
import {
  isOvercommitAllowed,
  isStandardContainerResource,
} from "../../../../../staging/apimachinery/corev1/resource-names.js";
import type { FieldError } from "../../../../../staging/apimachinery/errors.js";
import { ownValue } from "../../../../../staging/apimachinery/own.js";
import { compareQuantities, signOfQuantity } from "../../../../../staging/apimachinery/quantity.js";
import type { Wire } from "../../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../../util/records.js";
import {
  addErrors,
  duplicate,
  forbidden,
  goValue,
  invalidValue,
  notFound,
  notSupported,
  required,
} from "../../rest/field-errors.js";
import { validateEnvRefs } from "./downward-api-validation.js";
import { validateLifecycle, validateProbes } from "./probe-validation.js";

/** Mirrors validateContainers and what it calls in pkg/apis/core/validation/validation.go. */

type Container = V1Container | Wire<V1EphemeralContainer>;

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES = ["File", "FallbackToLogsOnError"];
// Sorted, because Go prints sets sorted.
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const BLANKS_AROUND = "must not have leading or trailing whitespace";

export interface ContainerContext {
  readonly volumeNames: ReadonlySet<string>;
  readonly hostNetwork: boolean;
}

export function validateContainers(
  containers: readonly V1Container[] | null | undefined,
  context: ContainerContext,
): FieldError[] {
  const list = containers ?? [];
  if (list.length === 0) return [required("spec.containers")];
  const names = new Set<string>();
  const errors = list.flatMap((container, index) => {
    const path = `spec.containers[${index}]`;
    return [
      ...validateContainer(container, path, context),
      ...uniqueName(container, path, names),
      ...validateLifecycle(container.lifecycle, `${path}.lifecycle`),
      ...validateProbes(container, path),
    ];
  });
  return [...errors, ...hostPortConflicts(list, "spec.containers")];
}

/** Init containers share their names with the containers. They have no probes and hooks, unless they are sidecars. */
export function validateInitContainers(spec: V1PodSpec, context: ContainerContext): FieldError[] {
  const names = new Set((spec.containers ?? []).map(({ name }) => name));
  return (spec.initContainers ?? []).flatMap((container, index) => {
    const path = `spec.initContainers[${index}]`;
    const errors = [...validateContainer(container, path, context), ...uniqueName(container, path, names)];
    if (container.restartPolicy === "Always") {
      return [
        ...errors,
        ...validateLifecycle(container.lifecycle, `${path}.lifecycle`),
        ...validateProbes(container, path),
      ];
    }
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] as const) {
      if (!isSet(container[field])) continue;
      errors.push(forbidden(`${path}.${field}`, "may not be set for init containers"));
    }
    return errors;
  });
}

function uniqueName({ name }: V1Container, path: string, names: Set<string>): FieldError[] {
  if (names.has(name)) return [duplicate(`${path}.name`, name)];
  // Containers without a name are reported already: one error each is enough.
  if (name !== "") names.add(name);
  return [];
}

/** Mirrors validateContainerCommon. */
export function validateContainer(container: Container, path: string, context: ContainerContext): FieldError[] {
  const { name, terminationMessagePolicy: policy = "", imagePullPolicy: pullPolicy = "" } = container;
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(`${path}.name`));
  else errors.push(...isDns1123Label(name).map((one) => invalidValue(`${path}.name`, name, one)));
  errors.push(...validateImage(container, path));
  if (policy !== "" && !MESSAGE_POLICIES.includes(policy)) {
    errors.push(notSupported(`${path}.terminationMessagePolicy`, policy, MESSAGE_POLICIES));
  }
  addErrors(errors, validatePorts(container.ports, `${path}.ports`));
  addErrors(errors, validateEnv(container.env, `${path}.env`));
  addErrors(errors, validateEnvFrom(container.envFrom, `${path}.envFrom`));
  addErrors(errors, validateVolumeMounts(container.volumeMounts, `${path}.volumeMounts`, context.volumeNames));
  if (pullPolicy !== "" && !PULL_POLICIES.includes(pullPolicy)) {
    errors.push(notSupported(`${path}.imagePullPolicy`, pullPolicy, PULL_POLICIES));
  }
  errors.push(...validateResources(container.resources, `${path}.resources`));
  return [...errors, ...validateSecurityContext(container.securityContext, `${path}.securityContext`)];
}

export function validateImage({ image = "" }: Container, path: string): FieldError[] {
  if (image === "") return [required(`${path}.image`)];
  return image.trim() === image ? [] : [invalidValue(`${path}.image`, image, BLANKS_AROUND)];
}

function validatePorts(ports: Container["ports"], path: string): FieldError[] {
  const names = new Set<string>();
  return (ports ?? []).flatMap((port, index) => {
    const { name = "", containerPort = 0, hostPort = 0, protocol = "" } = port;
    const field = `${path}[${index}]`;
    const errors: FieldError[] = [];
    if (name !== "") {
      const messages = isPortName(name);
      errors.push(...messages.map((message) => invalidValue(`${field}.name`, name, message)));
      if (messages.length === 0 && names.has(name)) errors.push(duplicate(`${field}.name`, name));
      names.add(name);
    }
    if (containerPort === 0) errors.push(required(`${field}.containerPort`));
    else errors.push(...portErrors(`${field}.containerPort`, containerPort));
    if (hostPort !== 0) errors.push(...portErrors(`${field}.hostPort`, hostPort));
    if (protocol === "") errors.push(required(`${field}.protocol`));
    else if (!PROTOCOLS.includes(protocol)) errors.push(notSupported(`${field}.protocol`, protocol, PROTOCOLS));
    return errors;
  });
}

function portErrors(field: string, port: number): FieldError[] {
  return isPortNumber(port).map((one) => invalidValue(field, port, one));
}

/** Mirrors checkHostPortConflicts: one process per port, protocol and host address. */
function hostPortConflicts(containers: readonly V1Container[], path: string): FieldError[] {
  const seen = new Set<string>();
  return containers.flatMap((container, containerIndex) =>
    (container.ports ?? []).flatMap(({ hostPort = 0, protocol = "", hostIP = "" }, portIndex) => {
      if (hostPort === 0) return [];
      const identity = `${protocol}/${hostIP}/${hostPort}`;
      if (seen.has(identity)) return [duplicate(`${path}[${containerIndex}].ports[${portIndex}].hostPort`, identity)];
      seen.add(identity);
      return [];
    }),
  );
}

function validateEnv(env: Container["env"], path: string): FieldError[] {
  return (env ?? []).flatMap(({ name, value, valueFrom }, index) => {
    const field = `${path}[${index}]`;
    const errors =
      name === ""
        ? [required(`${field}.name`)]
        : isEnvVarName(name).map((message) => invalidValue(`${field}.name`, name, message));
    if (!valueFrom) return errors;
    addErrors(errors, validateEnvRefs(valueFrom, `${field}.valueFrom`));
    const sources = Object.values(valueFrom).filter(isSet);
    if (sources.length === 0) {
      const why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
      errors.push(invalidValue(`${field}.valueFrom`, "", why));
    } else if (value) {
      errors.push(invalidValue(`${field}.valueFrom`, "", "may not be specified when `value` is not empty"));
    } else if (sources.length > 1) {
      errors.push(invalidValue(`${field}.valueFrom`, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateEnvFrom(envFrom: Container["envFrom"], path: string): FieldError[] {
  return (envFrom ?? []).flatMap((source, index) => {
    const field = `${path}[${index}]`;
    const { prefix = "" } = source;
    const errors =
      prefix === "" ? [] : isEnvVarName(prefix).map((message) => invalidValue(`${field}.prefix`, prefix, message));
    const kinds = (["configMapRef", "secretRef"] as const).filter((kind) => isSet(source[kind]));
    for (const kind of kinds) if (!source[kind]?.name) errors.push(required(`${field}.${kind}.name`));
    if (kinds.length === 0) {
      errors.push(invalidValue(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (kinds.length > 1) {
      errors.push(invalidValue(field, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateVolumeMounts(
  mounts: Container["volumeMounts"],
  path: string,
  volumeNames: ReadonlySet<string>,
): FieldError[] {
  const mountPoints = new Set<string>();
  return (mounts ?? []).flatMap(({ name, mountPath, subPath = "" }, index) => {
    const field = `${path}[${index}]`;
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${field}.name`));
    if (!volumeNames.has(name)) errors.push(notFound(`${field}.name`, name));
    if (mountPath === "") errors.push(required(`${field}.mountPath`));
    if (mountPoints.has(mountPath)) errors.push(invalidValue(`${field}.mountPath`, mountPath, "must be unique"));
    mountPoints.add(mountPath);
    if (subPath.startsWith("/")) errors.push(invalidValue(`${field}.subPath`, subPath, "must be a relative path"));
    if (subPath.split("/").includes(".."))
      errors.push(invalidValue(`${field}.subPath`, subPath, "must not contain '..'"));
    return errors;
  });
}

/** Mirrors ValidateResourceRequirements. */
function validateResources(resources: Container["resources"], path: string): FieldError[] {
  const { limits = {}, requests = {} } = resources ?? {};
  const errors = Object.entries(limits).flatMap(([name, amount]) =>
    validateAmount(name, amount, `${path}.limits[${name}]`),
  );
  for (const [name, amount] of Object.entries(requests)) {
    errors.push(...validateAmount(name, amount, `${path}.requests[${name}]`));
    const limit = ownValue(limits, name);
    if (limit === undefined) {
      if (!isOvercommitAllowed(name)) {
        errors.push(required(`${path}.limits`, "Limit must be set for non overcommitable resources"));
      }
    } else if (!isOvercommitAllowed(name) && compareQuantities(amount, limit) !== 0) {
      errors.push(invalidValue(`${path}.requests`, String(amount), `must be equal to ${name} limit`));
    } else if (compareQuantities(amount, limit) > 0) {
      errors.push(invalidValue(`${path}.requests`, String(amount), `must be less than or equal to ${name} limit`));
    }
  }
  return errors;
}

function validateAmount(name: string, amount: unknown, field: string): FieldError[] {
  const errors = isQualifiedName(name).map((one) => invalidValue(field, name, one));
  if (!name.includes("/") && !isStandardContainerResource(name)) {
    errors.push(invalidValue(field, name, "must be a standard resource for containers"));
  }
  if (signOfQuantity(amount) < 0) {
    errors.push(invalidValue(field, String(amount), "must be greater than or equal to 0"));
  }
  return errors;
}

function validateSecurityContext(context: Container["securityContext"], path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const field of ["runAsUser", "runAsGroup"] as const) {
    const id = context?.[field];
    if (id !== undefined && (id < 0 || id > 2 ** 31 - 1)) {
      errors.push(invalidValue(`${path}.${field}`, id, "must be between 0 and 2147483647, inclusive"));
    }
  }
  if (context?.allowPrivilegeEscalation === false) {
    const added = context.capabilities?.add ?? [];
    if (context.privileged === true) {
      const why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
      errors.push(invalidValue(path, goValue("core.SecurityContext{}"), why));
    }
    if (added.includes("CAP_SYS_ADMIN")) {
      const why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
      errors.push(invalidValue(path, goValue("core.SecurityContext{}"), why));
    }
  }
  return errors;
}
