import type { V1EndpointSlice, V1Service } from "@kubernetes/client-node";
import type { KubeObject } from "../../../staging/apimachinery/api/meta.js";
import type { Wire } from "../../../staging/apimachinery/wire.js";
import { labelsText } from "../output.js";
import type { Session } from "../session.js";
import { metadataLines } from "./text.js";

type Slice = Wire<V1EndpointSlice>;

/** Mirrors describeService in staging/src/k8s.io/kubectl/pkg/describe/describe.go. */
export async function describeService({ client, signal }: Session, object: KubeObject): Promise<string> {
  const { metadata, spec } = object as Wire<V1Service>;
  if (spec === undefined) return "";
  const { items } = await client.expect<{ items: readonly Slice[] }>({
    method: "GET",
    path: `/apis/discovery.k8s.io/v1/namespaces/${metadata.namespace}/endpointslices`,
    query: { labelSelector: `kubernetes.io/service-name=${metadata.name}` },
    signal,
  });
  const line = (title: string, value: unknown) => (value === undefined || value === "" ? "" : `${title}:\t${value}\n`);
  const ports = (spec.ports ?? []).map(({ name = "", port, protocol, targetPort, nodePort }) =>
    [
      `Port:\t${name === "" ? "<unset>" : name}  ${port}/${protocol}\n`,
      `TargetPort:\t${targetPort}/${protocol}\n`,
      nodePort === undefined ? "" : `NodePort:\t${name === "" ? "<unset>" : name}  ${nodePort}/${protocol}\n`,
      `Endpoints:\t${endpointsText(items, name)}\n`,
    ].join(""),
  );
  return [
    metadataLines(object),
    `Selector:\t${labelsText(spec.selector)}\nType:\t${spec.type}\n`,
    line("IP Family Policy", spec.ipFamilyPolicy),
    `IP Families:\t${(spec.ipFamilies ?? []).join(",") || "<none>"}\n`,
    `IP:\t${spec.clusterIP}\nIPs:\t${(spec.clusterIPs ?? []).join(",") || "<none>"}\n`,
    line("External Name", spec.externalName),
    ...ports,
    `Session Affinity:\t${spec.sessionAffinity}\n`,
    line("External Traffic Policy", spec.externalTrafficPolicy),
    line("Internal Traffic Policy", spec.internalTrafficPolicy),
  ].join("");
}

const MAX_ENDPOINTS = 3;

/** The addresses that are ready, for one port of the Service. Mirrors formatEndpointSlices. */
function endpointsText(slices: readonly Slice[], portName: string): string {
  const all = slices.flatMap(({ endpoints, ports }) =>
    (ports ?? [])
      .filter(({ name = "" }) => name === portName)
      .flatMap(({ port }) =>
        endpoints
          .filter(({ conditions }) => conditions?.ready !== false)
          .flatMap(({ addresses }) => addresses.map((address) => `${address}:${port}`)),
      ),
  );
  if (all.length <= MAX_ENDPOINTS) return all.join(",");
  return `${all.slice(0, MAX_ENDPOINTS).join(",")} + ${all.length - MAX_ENDPOINTS} more...`;
}
