import networkingV1beta1 from "../../../../../fixtures/scheme/networking-v1beta1.json" with { type: "json" };
import type { KubeObject } from "../../../../staging/apimachinery/api/meta.js";
import { hpaFromV1, hpaToV1 } from "../../../../staging/apimachinery/autoscalingv1/conversion.js";
import { sameJson } from "../../../../staging/apimachinery/same-json.js";
import { addToScheme } from "../../../../staging/apimachinery/scheme/catalogue.js";
import { isRecord } from "../../../../util/records.js";

type Fields = Readonly<Record<string, unknown>>;

/** A version in which a kind can be stored, other than the one that this server handles. */
interface StoredVersion {
  readonly group: string;
  readonly kind: string;
  readonly version: string;
  /** the type with its fields, if it is not the kind's own */
  readonly schema?: string;
  /** Absent: the fields are the same. */
  fromStored?(object: Fields): Fields;
  /** Present if this server stores the kind in this version. */
  toStored?(object: KubeObject): KubeObject;
}

addToScheme(networkingV1beta1);

const same = (object: KubeObject) => object;

/**
 * The versions that kube-apiserver 1.20 stores. Kinds whose `v1` it does not know are also written in them, so that every release
 * since then can continue a cluster; later releases still read them.
 */
const STORED_VERSIONS: readonly StoredVersion[] = [
  { group: "coordination.k8s.io", kind: "Lease", version: "v1beta1" },
  { group: "certificates.k8s.io", kind: "CertificateSigningRequest", version: "v1beta1" },
  { group: "node.k8s.io", kind: "RuntimeClass", version: "v1beta1" },
  { group: "storage.k8s.io", kind: "CSIDriver", version: "v1beta1" },
  { group: "networking.k8s.io", kind: "IngressClass", version: "v1beta1" },
  {
    group: "networking.k8s.io",
    kind: "Ingress",
    version: "v1beta1",
    schema: "v1beta1.Ingress",
    fromStored: ingressFromV1beta1,
  },
  { group: "batch", kind: "CronJob", version: "v1beta1", toStored: same },
  {
    group: "discovery.k8s.io",
    kind: "EndpointSlice",
    version: "v1beta1",
    fromStored: (slice) => withEndpoints(slice, endpointFromV1beta1),
    toStored: (slice) => withEndpoints(slice, endpointToV1beta1) as KubeObject,
  },
  {
    group: "policy",
    kind: "PodDisruptionBudget",
    version: "v1beta1",
    fromStored: (budget) => withSelector(budget, selectorFromV1beta1),
    toStored: (budget) => withSelector(budget, selectorToV1beta1) as KubeObject,
  },
  {
    group: "autoscaling",
    kind: "HorizontalPodAutoscaler",
    version: "v1",
    schema: "HorizontalPodAutoscaler",
    fromStored: (scaler) => hpaFromV1(scaler as KubeObject) as Fields,
    toStored: (scaler) => hpaToV1(scaler) as KubeObject,
  },
];

const byVersion = new Map(STORED_VERSIONS.map((row) => [`${row.group}/${row.version}/${row.kind}`, row]));
const written = new Map(
  STORED_VERSIONS.filter(({ toStored }) => toStored).map((row) => [`${row.group}/${row.kind}`, row]),
);

/** The row of a stored object's version; undefined for the version that this server handles, and for unknown ones. */
export function storedVersion(apiVersion: string, kind: string): StoredVersion | undefined {
  return byVersion.get(`${apiVersion}/${kind}`);
}

/** The object in the version in which it is stored. */
export function toStoredVersion(object: KubeObject): KubeObject {
  const { apiVersion, kind } = object;
  const row = written.get(`${apiVersion.slice(0, Math.max(0, apiVersion.indexOf("/")))}/${kind}`);
  if (row?.toStored === undefined) return object;
  return { ...row.toStored(object), apiVersion: `${row.group}/${row.version}` };
}

const ZONE = "topology.kubernetes.io/zone";
const HOSTNAME = "kubernetes.io/hostname";

function withEndpoints(slice: Fields, convert: (endpoint: Fields) => Fields): Fields {
  const { endpoints } = slice;
  return Array.isArray(endpoints) ? { ...slice, endpoints: endpoints.map(convert) } : slice;
}

/** Mirrors Convert_v1beta1_Endpoint_To_discovery_Endpoint. Protobuf has the topology under the name of v1. */
function endpointFromV1beta1({ topology, deprecatedTopology, nodeName, ...endpoint }: Fields): Fields {
  const { [ZONE]: zone, [HOSTNAME]: host, ...rest } = (topology ?? deprecatedTopology ?? {}) as Fields;
  const node = nodeName ?? host;
  const others = host === undefined || host === node ? rest : { ...rest, [HOSTNAME]: host };
  return {
    ...endpoint,
    ...(Object.keys(others).length === 0 ? {} : { deprecatedTopology: others }),
    ...(node === undefined ? {} : { nodeName: node }),
    ...(zone === undefined ? {} : { zone }),
  };
}

/** Mirrors Convert_discovery_Endpoint_To_v1beta1_Endpoint. */
function endpointToV1beta1({ deprecatedTopology, zone, ...endpoint }: Fields): Fields {
  const { nodeName } = endpoint;
  if (deprecatedTopology === undefined && zone === undefined && nodeName === undefined) return endpoint;
  const topology: Record<string, unknown> = { ...(deprecatedTopology as Fields | undefined) };
  if (zone !== undefined) topology[ZONE] = zone;
  if (nodeName !== undefined) topology[HOSTNAME] ??= nodeName;
  return { ...endpoint, topology };
}

/** An empty selector selects all pods in v1, and none in v1beta1. */
const ALL_OR_NONE = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match";
const NONE = { matchExpressions: [{ key: ALL_OR_NONE, operator: "Exists" }] };
const ALL = { matchExpressions: [{ key: ALL_OR_NONE, operator: "DoesNotExist" }] };

function withSelector(budget: Fields, convert: (selector: Fields) => Fields): Fields {
  const spec = budget["spec"];
  if (!isRecord(spec) || !isRecord(spec["selector"])) return budget;
  return { ...budget, spec: { ...spec, selector: convert(spec["selector"]) } };
}

/** Mirrors Convert_v1beta1_PodDisruptionBudget_To_policy_PodDisruptionBudget in pkg/apis/policy/v1beta1/conversion.go. */
function selectorFromV1beta1(selector: Fields): Fields {
  if (isEmpty(selector)) return NONE;
  return sameJson(selector, ALL) ? {} : selector;
}

function selectorToV1beta1(selector: Fields): Fields {
  if (isEmpty(selector)) return ALL;
  return sameJson(selector, NONE) ? {} : selector;
}

function isEmpty({ matchLabels, matchExpressions }: Fields): boolean {
  return Object.keys(matchLabels ?? {}).length === 0 && ((matchExpressions ?? []) as unknown[]).length === 0;
}

/** Mirrors pkg/apis/networking/v1beta1/conversion.go. */
function ingressFromV1beta1({ spec, ...ingress }: Fields): Fields {
  if (!isRecord(spec)) return ingress;
  const { backend, rules, ...rest } = spec;
  const paths = (http: unknown) =>
    isRecord(http) && Array.isArray(http["paths"])
      ? {
          ...http,
          paths: http["paths"].map((path: Fields) => ({ ...path, backend: backendFromV1beta1(path["backend"]) })),
        }
      : http;
  const converted = {
    ...rest,
    ...(isRecord(backend) ? { defaultBackend: backendFromV1beta1(backend) } : {}),
    ...(Array.isArray(rules)
      ? { rules: rules.map((rule: Fields) => (isRecord(rule["http"]) ? { ...rule, http: paths(rule["http"]) } : rule)) }
      : {}),
  };
  return { ...ingress, spec: converted };
}

function backendFromV1beta1(backend: unknown): Fields {
  const { serviceName: name = "", servicePort: port, ...rest } = (isRecord(backend) ? backend : {}) as Fields;
  if (name === "" && (port === undefined || port === 0 || port === "")) return rest;
  return { ...rest, service: { name, port: typeof port === "string" ? { name: port } : { number: port } } };
}
