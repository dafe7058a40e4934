import type { DistinguishedName } from "./name.js";
import type { SubjectAltNames } from "./sans.js";

/** What the rules look at: a parsed request (`CertificateRequest` fits) and the usages that the object asks for. */
export interface SignerQuestion {
  readonly request: { readonly subject: DistinguishedName; readonly sans: SubjectAltNames };
  readonly usages: readonly string[];
}

export interface SignerRule {
  /** what must hold, for people: `O is exactly system:nodes` */
  readonly name: string;
  /** what the request says about it, for people: `O=devs` */
  seen(question: SignerQuestion): string;
  /** @returns undefined when it holds, else upstream's text, which becomes the Failed condition's message */
  problem(question: SignerQuestion): string | undefined;
}

/** One rule, asked. */
export interface RuleOutcome {
  readonly rule: string;
  readonly seen: string;
  readonly ok: boolean;
  /** upstream's text; only when it does not hold */
  readonly message?: string;
}

export interface Signer {
  /** spec.signerName */
  readonly name: string;
  /** what its certificates are for, in a sentence */
  readonly purpose: string;
  /** who approves, in a sentence */
  readonly approval: string;
  /** the function that the rules mirror */
  readonly upstream: { readonly file: string; readonly func: string };
  /** in the order in which upstream asks: the first that fails gives the message */
  readonly rules: readonly SignerRule[];
  /** what the API server's admission refuses before there is an object: the signer never sees it */
  readonly creationRules: readonly SignerRule[];
  /** usages that a well-made request has; key encipherment may be added for each */
  readonly typicalUsages: readonly string[];
}

export const KUBE_APISERVER_CLIENT = "kubernetes.io/kube-apiserver-client";
export const KUBE_APISERVER_CLIENT_KUBELET = "kubernetes.io/kube-apiserver-client-kubelet";
export const KUBELET_SERVING = "kubernetes.io/kubelet-serving";

const HELPERS = "pkg/apis/certificates/helpers.go";

const list = (values: readonly string[]) => (values.length === 0 ? "none" : values.join(", "));

const organizationIsNodes: SignerRule = {
  name: "O is system:nodes and nothing else",
  seen: ({ request }) => list(request.subject.organization.map((one) => `O=${one}`)),
  problem: ({ request: { subject } }) =>
    subject.organization.length === 1 && subject.organization[0] === "system:nodes"
      ? undefined
      : "subject organization is not system:nodes",
};

const commonNameIsNode: SignerRule = {
  name: "CN begins with system:node:",
  seen: ({ request }) => (request.subject.commonName === "" ? "no CN" : `CN=${request.subject.commonName}`),
  problem: ({ request }) =>
    request.subject.commonName.startsWith("system:node:")
      ? undefined
      : "subject common name does not begin with system:node:",
};

function noSans(kind: keyof SubjectAltNames, label: string): SignerRule {
  return {
    name: `no ${label} alternative names`,
    seen: ({ request }) => list(request.sans[kind]),
    problem: ({ request }) =>
      request.sans[kind].length === 0 ? undefined : `${label} subjectAltNames are not allowed`,
  };
}

const dnsOrIpRequired: SignerRule = {
  name: "at least one DNS or IP alternative name",
  seen: ({ request }) => list([...request.sans.dns, ...request.sans.ip]),
  problem: ({ request }) =>
    request.sans.dns.length + request.sans.ip.length > 0 ? undefined : "DNS or IP subjectAltName is required",
};

/** Exactly these usages as a set, with or without key encipherment, whatever the kind of key. */
function usagesAre(purpose: "client auth" | "server auth"): SignerRule {
  const full = ["digital signature", "key encipherment", purpose].sort();
  return {
    name: `usages are digital signature and ${purpose}, maybe key encipherment`,
    seen: ({ usages }) => list(usages),
    problem: ({ usages }) => {
      const asked = new Set(usages);
      asked.delete("key encipherment");
      const matches = asked.size === 2 && asked.has("digital signature") && asked.has(purpose);
      return matches ? undefined : `usages did not match [${full.join(" ")}]`;
    },
  };
}

const OPTIONAL_CLIENT_USAGES = new Set(["digital signature", "key encipherment", "client auth"]);

const onlyClientUsages: SignerRule = {
  name: "no usages but client auth, digital signature, key encipherment",
  seen: ({ usages }) => list(usages),
  problem: ({ usages }) => {
    const other = usages.find((usage) => !OPTIONAL_CLIENT_USAGES.has(usage));
    return other === undefined ? undefined : `invalid usage for client certificate: ${other}`;
  },
};

const hasClientAuth: SignerRule = {
  name: "usage client auth is among them",
  seen: ({ usages }) => list(usages),
  problem: ({ usages }) =>
    usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth",
};

/** Whoever is in this group may do everything, and RBAC cannot take it back. */
const notSystemMasters: SignerRule = {
  name: "O is not system:masters (asked when the object is created)",
  seen: ({ request }) => list(request.subject.organization.map((one) => `O=${one}`)),
  problem: ({ request }) =>
    request.subject.organization.includes("system:masters")
      ? `use of ${KUBE_APISERVER_CLIENT} signer with system:masters group is not allowed`
      : undefined,
};

/**
 * The signers that a cluster's own CA serves, each with all its rules: the signing controller, the approver and
 * `csr inspect` ask the same ones.
 */
export const SIGNERS: readonly Signer[] = [
  {
    name: KUBE_APISERVER_CLIENT_KUBELET,
    purpose: "a kubelet's client certificate: how a node speaks to the API server",
    approval: "csrapproving, when the requester has the right to create .../nodeclient or .../selfnodeclient",
    upstream: { file: HELPERS, func: "ValidateKubeletClientCSR" },
    rules: [
      organizationIsNodes,
      noSans("dns", "DNS"),
      noSans("email", "Email"),
      noSans("ip", "IP"),
      noSans("uri", "URI"),
      commonNameIsNode,
      usagesAre("client auth"),
    ],
    creationRules: [],
    typicalUsages: ["digital signature", "client auth"],
  },
  {
    name: KUBELET_SERVING,
    purpose: "a kubelet's serving certificate: what it shows on port 10250",
    approval: "by hand: no controller of Kubernetes approves it",
    upstream: { file: HELPERS, func: "ValidateKubeletServingCSR" },
    rules: [
      organizationIsNodes,
      dnsOrIpRequired,
      noSans("email", "Email"),
      noSans("uri", "URI"),
      usagesAre("server auth"),
      commonNameIsNode,
    ],
    creationRules: [],
    typicalUsages: ["digital signature", "server auth"],
  },
  {
    name: KUBE_APISERVER_CLIENT,
    purpose: "a user's client certificate: CN is the user, O are the groups",
    approval: "by hand; O=system:masters is refused when the object is created",
    upstream: { file: "pkg/controller/certificates/signer/signer.go", func: "validAPIServerClientUsages" },
    rules: [onlyClientUsages, hasClientAuth],
    creationRules: [notSystemMasters],
    typicalUsages: ["digital signature", "client auth"],
  },
];

/** @returns undefined for a signer that the cluster's CA does not serve */
export function findSigner(signerName: string): Signer | undefined {
  return SIGNERS.find((signer) => signer.name === signerName);
}

/** Asks every rule, also after one that failed: a learner wants to see all that is wrong. */
export function evaluateSigner(signer: Signer, question: SignerQuestion): RuleOutcome[] {
  return evaluateRules(signer.rules, question);
}

/** Asks each of the rules, in their order. */
export function evaluateRules(rules: readonly SignerRule[], question: SignerQuestion): RuleOutcome[] {
  return rules.map((rule) => {
    const message = rule.problem(question);
    const seen = rule.seen(question);
    return message === undefined ? { rule: rule.name, seen, ok: true } : { rule: rule.name, seen, ok: false, message };
  });
}

/** `5 of 7 rules hold; DNS subjectAltNames are not allowed`, for a trace's decision. */
export function outcomesText(outcomes: readonly RuleOutcome[]): string {
  const failed = outcomes.filter((one) => !one.ok);
  if (failed.length === 0) return `all ${outcomes.length} rules hold`;
  const reasons = failed.map((one) => `${one.message} (${one.seen})`).join("; ");
  return `${outcomes.length - failed.length} of ${outcomes.length} rules hold: ${reasons}`;
}
