import { isIP } from "node:net";
import type { V1Ingress, V1IngressClass, V1IngressRule, V1IngressTLS } from "@kubernetes/client-node";
import { isDns1123Subdomain, isWildcardDns1123Subdomain } from "../../../../staging/apimachinery/api/names.js";
import { nameOf } from "../../../../staging/apimachinery/api/objects.js";
import type { FieldError } from "../../../../staging/apimachinery/errors.js";
import { semanticallyEqual } from "../../../../staging/apimachinery/semantic-equality.js";
import type { Wire } from "../../../../staging/apimachinery/wire.js";
import { isSet } from "../../../../util/records.js";
import { AGE_COLUMN, ageOf, column, NAME_COLUMN, NONE } from "../rest/cells.js";
import type { ResourceDefinition, Strategy } from "../rest/definition.js";
import { goValue, IMMUTABLE, invalidValue, required, tooLong } from "../rest/field-errors.js";
import { row, statusOf } from "../rest/rows.js";
import { specAndStatus } from "../rest/stored.js";
import { validateBackend, validatePath, validateReference } from "./ingress-paths.js";

type IngressObject = Wire<V1Ingress>;
type ClassObject = Wire<V1IngressClass>;

const CLASS_ANNOTATION = "kubernetes.io/ingress.class";
const MAX_CONTROLLER_LENGTH = 250;

/** Mirrors ValidateIngressSpec in pkg/apis/networking/validation/validation.go. */
function validateIngress({ spec }: IngressObject): FieldError[] {
  const { defaultBackend, ingressClassName } = spec ?? {};
  const rules = spec?.rules ?? [];
  const errors: FieldError[] = [];
  if (rules.length === 0 && !defaultBackend) {
    const none = goValue("[]networking.IngressRule(nil)");
    errors.push(invalidValue("spec", none, "either `defaultBackend` or `rules` must be specified"));
  }
  if (defaultBackend) errors.push(...validateBackend(defaultBackend, "spec.defaultBackend"));
  errors.push(...rules.flatMap((rule, index) => validateRule(rule, `spec.rules[${index}]`)));
  errors.push(...(spec?.tls ?? []).flatMap((one, index) => validateTls(one, `spec.tls[${index}]`)));
  if (isSet(ingressClassName)) {
    const messages = isDns1123Subdomain(ingressClassName);
    errors.push(...messages.map((one) => invalidValue("spec.ingressClassName", ingressClassName, one)));
  }
  return errors;
}

/** Mirrors ValidateIngressCreate. */
function validateCreate(ingress: IngressObject): FieldError[] {
  const errors = validateIngress(ingress);
  const annotation = ingress.metadata.annotations?.[CLASS_ANNOTATION];
  if (annotation !== undefined && isSet(ingress.spec?.ingressClassName)) {
    const why = "can not be set when the class field is also set";
    errors.push(invalidValue(`annotations.${CLASS_ANNOTATION}`, annotation, why));
  }
  return errors;
}

function validateRule({ host, http }: Wire<V1IngressRule>, field: string): FieldError[] {
  const errors: FieldError[] = [];
  if (host) {
    if (isIP(host) !== 0) {
      errors.push(invalidValue(`${field}.host`, host, "must be a DNS name, not an IP address"));
    }
    errors.push(...hostMessages(host).map((one) => invalidValue(`${field}.host`, host, one)));
  }
  if (!http) return errors;
  const paths = http.paths ?? [];
  if (paths.length === 0) errors.push(required(`${field}.http.paths`));
  return [...errors, ...paths.flatMap((path, index) => validatePath(path, `${field}.http.paths[${index}]`))];
}

function hostMessages(host: string): string[] {
  return host.includes("*") ? isWildcardDns1123Subdomain(host) : isDns1123Subdomain(host);
}

function validateTls({ hosts, secretName }: Wire<V1IngressTLS>, field: string): FieldError[] {
  return [
    ...(hosts ?? []).flatMap((host, index) =>
      hostMessages(host).map((one) => invalidValue(`${field}.hosts[${index}]`, host, one)),
    ),
    ...(secretName
      ? isDns1123Subdomain(secretName).map((one) => invalidValue(`${field}.secretName`, secretName, one))
      : []),
  ];
}

/** Mirrors pkg/registry/networking/ingress/strategy.go. */
const ingressStrategy: Strategy = specAndStatus({
  counted: true,
  freshStatus: () => ({ loadBalancer: {} }),
  strategy: {
    validate: validateCreate,
    validateUpdate: validateIngress,
    warningsOnCreate: ({ metadata }: IngressObject) =>
      metadata.annotations?.[CLASS_ANNOTATION] === undefined
        ? []
        : [`annotation "${CLASS_ANNOTATION}" is deprecated, please use 'spec.ingressClassName' instead`],
  },
});

const MAX_HOSTS_SHOWN = 3;

/** Mirrors formatHosts. */
function hostsCell(rules: readonly Wire<V1IngressRule>[]): string {
  const hosts = rules.flatMap(({ host }) => (host ? [host] : []));
  if (hosts.length === 0) return "*";
  const shown = hosts.slice(0, MAX_HOSTS_SHOWN).join(",");
  const isCut = hosts.length >= MAX_HOSTS_SHOWN && rules.length > MAX_HOSTS_SHOWN;
  return isCut ? `${shown} + ${rules.length - MAX_HOSTS_SHOWN} more...` : shown;
}

/** Mirrors printIngress. */
const INGRESSES = row("networking.k8s.io/v1", "Ingress", "ingresses", ingressStrategy, {
  shortNames: ["ing"],
  subresources: [statusOf()],
  table: {
    columns: [
      NAME_COLUMN,
      column("Class", "The IngressClass that serves it."),
      column("Hosts", "The hosts of its rules."),
      column("Address", "Where it is reached from outside."),
      column("Ports", "The ports that it opens."),
      AGE_COLUMN,
    ],
    cells: (ingress: IngressObject, nowMs) => [
      nameOf(ingress),
      ingress.spec?.ingressClassName ?? NONE,
      hostsCell(ingress.spec?.rules ?? []),
      (ingress.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => ip || hostname || "").join(","),
      (ingress.spec?.tls ?? []).length > 0 ? "80, 443" : "80",
      ageOf(ingress, nowMs),
    ],
  },
});

/** Mirrors validateIngressClassSpec. */
function validateClass({ spec }: ClassObject): FieldError[] {
  const { controller = "", parameters } = spec ?? {};
  const errors: FieldError[] = [];
  if (controller.length > MAX_CONTROLLER_LENGTH) errors.push(tooLong("spec.controller", MAX_CONTROLLER_LENGTH));
  errors.push(...validateDomainPrefixedPath("spec.controller", controller));
  if (!parameters) return errors;
  errors.push(...validateReference(parameters, "spec.parameters"));
  const { scope, namespace } = parameters;
  if (scope === "Namespace" && !namespace) {
    errors.push(required("spec.parameters.namespace", '`parameters.scope` is set to "Namespace"'));
  }
  return errors;
}

/** `example.com/ingress`: a domain and a path (IsDomainPrefixedPath). */
function validateDomainPrefixedPath(field: string, path: string): FieldError[] {
  if (path === "") return [required(field)];
  const slash = path.indexOf("/");
  if (slash <= 0 || slash === path.length - 1) {
    return [invalidValue(field, path, 'must be a domain-prefixed path (such as "acme.io/foo")')];
  }
  const host = path.slice(0, slash);
  return isDns1123Subdomain(host).map((one) => invalidValue(field, host, one));
}

const classStrategy: Strategy = {
  allowUnconditionalUpdate: true,
  validate: validateClass,
  validateUpdate(ingressClass: ClassObject, { spec: before }: ClassObject) {
    const { controller = "" } = ingressClass.spec ?? {};
    const isChanged = !semanticallyEqual(controller, before?.controller);
    return [
      ...(isChanged ? [invalidValue("spec.controller", controller, IMMUTABLE)] : []),
      ...validateClass(ingressClass),
    ];
  },
};

/** Mirrors printIngressClass. */
const INGRESS_CLASSES = row("networking.k8s.io/v1", "IngressClass", "ingressclasses", classStrategy, {
  namespaced: false,
  table: {
    columns: [
      NAME_COLUMN,
      column("Controller", "The controller that serves the class."),
      column("Parameters", "An object with more settings."),
      AGE_COLUMN,
    ],
    cells(ingressClass: ClassObject, nowMs) {
      const { controller = "", parameters } = ingressClass.spec ?? {};
      const group = parameters?.apiGroup ? `.${parameters.apiGroup}` : "";
      const shown = parameters ? `${parameters.kind}${group}/${parameters.name}` : NONE;
      return [nameOf(ingressClass), controller, shown, ageOf(ingressClass, nowMs)];
    },
  },
});

export const INGRESS: readonly ResourceDefinition[] = [INGRESS_CLASSES, INGRESSES];
