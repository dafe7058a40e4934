/** The parts of a name in the cluster's zone. */
export interface RecordRequest {
  /** "" for the zone itself, and for `svc` and `pod` in it */
  readonly podOrService: "" | "svc" | "pod";
  readonly namespace: string;
  /** of a pod: its address with dashes */
  readonly service: string;
  /** the host name of one endpoint, or its address with dashes */
  readonly endpoint: string;
  readonly port: string;
  readonly protocol: string;
}

const NOTHING: RecordRequest = { podOrService: "", namespace: "", service: "", endpoint: "", port: "", protocol: "" };

/**
 * Splits a name: `service.namespace.svc.zone`, with an endpoint or `_port._protocol` before it.
 *
 * Mirrors parseRequest in CoreDNS, plugin/kubernetes/parse.go.
 * @param name lower case, in the zone
 * @returns undefined if no name has this form
 */
export function parseName(name: string, zone: string): RecordRequest | undefined {
  const base = name === zone ? "" : name.slice(0, -zone.length - 1);
  if (base === "" || base === "svc" || base === "pod") return NOTHING;
  const labels = base.split(".");
  const podOrService = labels.pop();
  if (podOrService !== "svc" && podOrService !== "pod") return undefined;
  const namespace = labels.pop() ?? "";
  const service = labels.pop() ?? "";
  const request = { ...NOTHING, podOrService, namespace, service } as const;
  switch (labels.length) {
    case 0:
      return request;
    case 1:
      return { ...request, endpoint: labels[0] ?? "" };
    case 2:
      return { ...request, port: withoutUnderscore(labels[0]), protocol: withoutUnderscore(labels[1]) };
    default:
      return undefined;
  }
}

function withoutUnderscore(label = ""): string {
  return label.startsWith("_") ? label.slice(1) : label;
}

/**
 * The address of a reverse name: `7.0.96.10.in-addr.arpa` is 10.96.0.7.
 * Mirrors ExtractAddressFromReverse in CoreDNS, plugin/pkg/dnsutil/reverse.go. @returns undefined if the address is incomplete
 */
export function addressOfReverse(name: string): string | undefined {
  const v4 = /^((?:\d{1,3}\.){4})in-addr\.arpa$/.exec(name);
  if (v4 !== null) return (v4[1] ?? "").split(".").slice(0, 4).reverse().join(".");
  const v6 = /^((?:[0-9a-f]\.){32})ip6\.arpa$/.exec(name);
  if (v6 === null) return undefined;
  const digits = (v6[1] ?? "").replaceAll(".", "").split("").reverse().join("");
  // In the short form, in which API objects have it.
  return new URL(`http://[${(digits.match(/.{4}/g) ?? []).join(":")}]`).hostname.slice(1, -1);
}
