import * as models from "@kubernetes/client-node";
import { describe, expect, test } from "vitest";
import { RESOURCES } from "../../../../src/cluster/apiserver/registry/table.js";
import { jsonFields, typeNames, typeSchema } from "../../../../src/staging/apimachinery/scheme/catalogue.js";
import type { FieldType } from "../../../../src/staging/apimachinery/scheme/schema.js";

/** Fields in the client's models (a later release) that v1.25 lacks. */
const NEWER_THAN_1_25: Readonly<Record<string, string>> = {
  DeleteOptions: "ignoreStoreReadErrorWithClusterBreakingPotential",
  EphemeralContainer: "resizePolicy restartPolicy restartPolicyRules",
  Container: "resizePolicy restartPolicyRules",
  EnvVarSource: "fileKeyRef",
  ResourceRequirements: "claims",
  VolumeMount: "recursiveReadOnly",
  LifecycleHandler: "sleep",
  Lifecycle: "stopSignal",
  SecurityContext: "appArmorProfile",
  ContainerStatus: "allocatedResources allocatedResourcesStatus resources stopSignal user volumeMounts",
  PodSpec: "hostnameOverride resourceClaims resources",
  PodStatus: "extendedResourceClaimStatus hostIPs observedGeneration resize resourceClaimStatuses",
  PodCondition: "observedGeneration",
  PodSecurityContext: "appArmorProfile seLinuxChangePolicy supplementalGroupsPolicy",
  PodAffinityTerm: "matchLabelKeys mismatchLabelKeys",
  Volume: "image",
  VolumeProjection: "clusterTrustBundle podCertificate",
  NodeStatus: "features runtimeHandlers",
  NodeSystemInfo: "swap",
  ServiceSpec: "trafficDistribution",
  LoadBalancerIngress: "ipMode",
  PersistentVolumeClaimSpec: "volumeAttributesClassName",
  PersistentVolumeClaimStatus: "allocatedResourceStatuses currentVolumeAttributesClassName modifyVolumeStatus",
  PersistentVolumeSpec: "volumeAttributesClassName",
  PersistentVolumeStatus: "lastPhaseTransitionTime",
  ResourceAttributes: "fieldSelector labelSelector",
  LeaseSpec: "preferredHolder strategy",
  EndpointHints: "forNodes",
  CSIDriverSpec: "nodeAllocatableUpdatePeriodSeconds",
  VolumeError: "errorCode",
  DeploymentStatus: "terminatingReplicas",
  ReplicaSetStatus: "terminatingReplicas",
  JobSpec: "backoffLimitPerIndex managedBy maxFailedIndexes podReplacementPolicy successPolicy",
  JobStatus: "failedIndexes terminating",
  HPAScalingRules: "tolerance",
};

/** Fields of v1.25 that a later release dropped. */
const GONE_SINCE: Readonly<Record<string, string>> = {
  PersistentVolumeClaimStatus: "resizeStatus",
  NetworkPolicy: "status",
};

/** Fields whose type has changed since. */
const CHANGED_SINCE: Readonly<Record<string, string>> = {
  PersistentVolumeClaimSpec: "resources dataSourceRef",
  IngressStatus: "loadBalancer",
};

interface Model {
  getAttributeTypeMap(): { readonly baseName: string; readonly type: string; readonly format: string }[];
}

/** The client's name of a type: `V1Pod`, `CoreV1Event`, `EventsV1Event`. */
function modelOf(type: string): Model | undefined {
  const [, group = "", version = "1"] =
    /io\.k8s\.(?:api|apiextensions-apiserver\.pkg\.apis)\.([a-z]+)\.v(\d)$/.exec(typeSchema(type).package) ?? [];
  const bare = type.slice(type.lastIndexOf(".") + 1);
  const prefixed = `${group.charAt(0).toUpperCase()}${group.slice(1)}V${version}${bare}`;
  const all = models as unknown as Readonly<Record<string, Model | undefined>>;
  return all[prefixed] ?? all[`V${version}${bare}`];
}

function clientType(type: FieldType): string {
  switch (type.type) {
    case "object":
      return type.or !== undefined || modelOf(type.ref)?.toString() === undefined ? "any" : nameOf(type.ref);
    case "array":
      return `Array<${clientType(type.items)}>`;
    case "map":
      return `{ [key: string]: ${clientType(type.values)}; }`;
    case "boolean":
      return "boolean";
    case "int32":
    case "int64":
    case "double":
      return "number";
    case "time":
      return "Date";
    case "microtime":
      return "V1MicroTime";
    case "intOrString":
      return "IntOrString";
    case "any":
      return "any";
    default:
      return "string";
  }
}

function nameOf(type: string): string {
  return (modelOf(type) as unknown as { readonly name: string }).name;
}

function wordsOf(map: Readonly<Record<string, string>>, type: string): string[] {
  return map[type]?.split(" ") ?? [];
}

describe("type tables", () => {
  test("every served kind has one", () => {
    for (const { schema } of RESOURCES) expect(typeSchema(schema).isKind, schema).toBe(true);
  });

  test("protobuf numbers and names are unique, and every referenced type exists", () => {
    for (const type of typeNames()) {
      const { fields } = typeSchema(type);
      const numbers = fields.map(({ protobuf }) => protobuf).filter((number) => number > 0);
      expect(new Set(numbers).size, type).toBe(numbers.length);
      const names = jsonFields(type).map(({ name }) => name);
      expect(new Set(names).size, type).toBe(names.length);
    }
  });

  for (const type of typeNames()) {
    const model = modelOf(type);
    if (model === undefined) continue;
    test(`${type}: fields as in the client's models`, () => {
      const wanted = new Map(model.getAttributeTypeMap().map((field) => [field.baseName, field.type]));
      const ours = new Map(jsonFields(type).map((field) => [field.name, clientType(field.type)]));
      const newer = [...wanted.keys()].filter((name) => !ours.has(name)).sort();
      const gone = [...ours.keys()].filter((name) => !wanted.has(name)).sort();
      const changed = [...ours]
        .filter(([name, is]) => wanted.has(name) && wanted.get(name) !== is)
        .map(([name]) => name);
      expect({ newer, gone, changed }).toEqual({
        newer: wordsOf(NEWER_THAN_1_25, type),
        gone: wordsOf(GONE_SINCE, type),
        changed: wordsOf(CHANGED_SINCE, type),
      });
    });
  }
});
