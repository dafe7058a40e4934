import {
  isCIdentifier,
  isDns1123Label,
  isEnvVarName,
  isPortName,
  isPortNumber,
  isQualifiedName,
} from "../../../../apimachinery/api/names.js";
import type { FieldError } from "../../../../apimachinery/errors.js";
import { ownValue } from "../../../../apimachinery/own.js";
import { compareQuantities, signOfQuantity } from "../../../../apimachinery/quantity.js";
import { isSet } from "../../../../util/records.js";
import { type Fields, fields, items, number, text } from "../access.js";
import { duplicate, forbidden, goValue, invalidValue, notFound, notSupported, required } from "../field-errors.js";
import { validateLifecycle, validateProbes } from "./probe-validation.js";

/** Mirrors validateContainers and what it calls in pkg/apis/core/validation/validation.go. */

const PULL_POLICIES = ["Always", "IfNotPresent", "Never"];
const MESSAGE_POLICIES = ["File", "FallbackToLogsOnError"];
// Sorted, because Go prints sets sorted.
const PROTOCOLS = ["SCTP", "TCP", "UDP"];
const BLANKS_AROUND = "must not have leading or trailing whitespace";

export interface ContainerContext {
  readonly volumeNames: ReadonlySet<string>;
  readonly hostNetwork: boolean;
}

export function validateContainers(containers: unknown, context: ContainerContext): FieldError[] {
  const list = items(containers).map(fields);
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
export function validateInitContainers(spec: Fields, context: ContainerContext): FieldError[] {
  const names = new Set(items(spec.containers).map((one) => text(fields(one).name)));
  return items(spec.initContainers).flatMap((one, index) => {
    const container = fields(one);
    const path = `spec.initContainers[${index}]`;
    const errors = [...validateContainer(container, path, context), ...uniqueName(container, path, names)];
    if (container.restartPolicy === "Always") {
      return [
        ...errors,
        ...validateLifecycle(container.lifecycle, `${path}.lifecycle`),
        ...validateProbes(container, path),
      ];
    }
    for (const field of ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"]) {
      if (!isSet(container[field])) continue;
      errors.push(forbidden(`${path}.${field}`, "may not be set for init containers"));
    }
    return errors;
  });
}

function uniqueName(container: Fields, path: string, names: Set<string>): FieldError[] {
  const name = text(container.name);
  if (names.has(name)) return [duplicate(`${path}.name`, name)];
  // Containers without a name are reported already: one error each is enough.
  if (name !== "") names.add(name);
  return [];
}

/** Mirrors validateContainerCommon. */
export function validateContainer(container: Fields, path: string, context: ContainerContext): FieldError[] {
  const name = text(container.name);
  const policy = text(container.terminationMessagePolicy);
  const errors: FieldError[] = [];
  if (name === "") errors.push(required(`${path}.name`));
  else errors.push(...isDns1123Label(name).map((one) => invalidValue(`${path}.name`, name, one)));
  errors.push(...validateImage(container, path));
  if (policy !== "" && !MESSAGE_POLICIES.includes(policy)) {
    errors.push(notSupported(`${path}.terminationMessagePolicy`, policy, MESSAGE_POLICIES));
  }
  errors.push(...validatePorts(container.ports, `${path}.ports`));
  errors.push(...validateEnv(container.env, `${path}.env`));
  errors.push(...validateEnvFrom(container.envFrom, `${path}.envFrom`));
  errors.push(...validateVolumeMounts(container.volumeMounts, `${path}.volumeMounts`, context.volumeNames));
  const pullPolicy = text(container.imagePullPolicy);
  if (pullPolicy !== "" && !PULL_POLICIES.includes(pullPolicy)) {
    errors.push(notSupported(`${path}.imagePullPolicy`, pullPolicy, PULL_POLICIES));
  }
  errors.push(...validateResources(fields(container.resources), `${path}.resources`));
  return [...errors, ...validateSecurityContext(container.securityContext, `${path}.securityContext`)];
}

export function validateImage(container: Fields, path: string): FieldError[] {
  const image = text(container.image);
  if (image === "") return [required(`${path}.image`)];
  return image.trim() === image ? [] : [invalidValue(`${path}.image`, image, BLANKS_AROUND)];
}

function validatePorts(ports: unknown, path: string): FieldError[] {
  const names = new Set<string>();
  return items(ports).flatMap((one, index) => {
    const port = fields(one);
    const field = `${path}[${index}]`;
    const name = text(port.name);
    const errors: FieldError[] = [];
    if (name !== "") {
      const messages = isPortName(name);
      errors.push(...messages.map((message) => invalidValue(`${field}.name`, name, message)));
      if (messages.length === 0 && names.has(name)) errors.push(duplicate(`${field}.name`, name));
      names.add(name);
    }
    const containerPort = number(port.containerPort) ?? 0;
    const hostPort = number(port.hostPort) ?? 0;
    const protocol = text(port.protocol);
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
function hostPortConflicts(containers: readonly Fields[], path: string): FieldError[] {
  const seen = new Set<string>();
  return containers.flatMap((container, containerIndex) =>
    items(container.ports).flatMap((one, portIndex) => {
      const port = fields(one);
      const hostPort = number(port.hostPort) ?? 0;
      if (hostPort === 0) return [];
      const identity = `${text(port.protocol)}/${text(port.hostIP)}/${hostPort}`;
      if (seen.has(identity)) return [duplicate(`${path}[${containerIndex}].ports[${portIndex}].hostPort`, identity)];
      seen.add(identity);
      return [];
    }),
  );
}

function validateEnv(env: unknown, path: string): FieldError[] {
  return items(env).flatMap((one, index) => {
    const variable = fields(one);
    const field = `${path}[${index}]`;
    const name = text(variable.name);
    const errors =
      name === ""
        ? [required(`${field}.name`)]
        : isEnvVarName(name).map((message) => invalidValue(`${field}.name`, name, message));
    if (!isSet(variable.valueFrom)) return errors;
    const sources = Object.entries(fields(variable.valueFrom)).filter(([, value]) => isSet(value));
    if (sources.length === 0) {
      const why = "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef` or `secretKeyRef`";
      errors.push(invalidValue(`${field}.valueFrom`, "", why));
    } else if (text(variable.value) !== "") {
      errors.push(invalidValue(`${field}.valueFrom`, "", "may not be specified when `value` is not empty"));
    } else if (sources.length > 1) {
      errors.push(invalidValue(`${field}.valueFrom`, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateEnvFrom(envFrom: unknown, path: string): FieldError[] {
  return items(envFrom).flatMap((one, index) => {
    const source = fields(one);
    const field = `${path}[${index}]`;
    const prefix = text(source.prefix);
    const errors =
      prefix === "" ? [] : isCIdentifier(prefix).map((message) => invalidValue(`${field}.prefix`, prefix, message));
    const kinds = ["configMapRef", "secretRef"].filter((kind) => isSet(source[kind]));
    for (const kind of kinds)
      if (text(fields(source[kind]).name) === "") errors.push(required(`${field}.${kind}.name`));
    if (kinds.length === 0) {
      errors.push(invalidValue(field, "", "must specify one of: `configMapRef` or `secretRef`"));
    } else if (kinds.length > 1) {
      errors.push(invalidValue(field, "", "may not have more than one field specified at a time"));
    }
    return errors;
  });
}

function validateVolumeMounts(mounts: unknown, path: string, volumeNames: ReadonlySet<string>): FieldError[] {
  const mountPoints = new Set<string>();
  return items(mounts).flatMap((one, index) => {
    const mount = fields(one);
    const field = `${path}[${index}]`;
    const name = text(mount.name);
    const mountPath = text(mount.mountPath);
    const errors: FieldError[] = [];
    if (name === "") errors.push(required(`${field}.name`));
    if (!volumeNames.has(name)) errors.push(notFound(`${field}.name`, name));
    if (mountPath === "") errors.push(required(`${field}.mountPath`));
    if (mountPoints.has(mountPath)) errors.push(invalidValue(`${field}.mountPath`, mountPath, "must be unique"));
    mountPoints.add(mountPath);
    const subPath = text(mount.subPath);
    if (subPath.startsWith("/")) errors.push(invalidValue(`${field}.subPath`, subPath, "must be a relative path"));
    if (subPath.split("/").includes(".."))
      errors.push(invalidValue(`${field}.subPath`, subPath, "must not contain '..'"));
    return errors;
  });
}

const STANDARD_RESOURCES = ["cpu", "memory", "ephemeral-storage"];

function isStandardResource(name: string): boolean {
  return STANDARD_RESOURCES.includes(name) || name.startsWith("hugepages-");
}

/** Only the node's own resources, without hugepages, can be overcommitted. Mirrors helper.IsOvercommitAllowed. */
function isOvercommitAllowed(name: string): boolean {
  return (!name.includes("/") || name.includes("kubernetes.io/")) && !name.startsWith("hugepages-");
}

/** Mirrors ValidateResourceRequirements. */
function validateResources(resources: Fields, path: string): FieldError[] {
  const limits = fields(resources.limits);
  const requests = fields(resources.requests);
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
  if (!name.includes("/") && !isStandardResource(name)) {
    errors.push(invalidValue(field, name, "must be a standard resource for containers"));
  }
  if (signOfQuantity(amount) < 0) {
    errors.push(invalidValue(field, String(amount), "must be greater than or equal to 0"));
  }
  return errors;
}

function validateSecurityContext(securityContext: unknown, path: string): FieldError[] {
  const context = fields(securityContext);
  const errors: FieldError[] = [];
  for (const field of ["runAsUser", "runAsGroup"]) {
    const id = number(context[field]);
    if (id !== undefined && (id < 0 || id > 2 ** 31 - 1)) {
      errors.push(invalidValue(`${path}.${field}`, id, "must be between 0 and 2147483647, inclusive"));
    }
  }
  if (context.allowPrivilegeEscalation === false) {
    const added = items(fields(context.capabilities).add);
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
