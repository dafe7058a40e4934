import type { DistinguishedName } from "./name.js";
import type { SubjectAltNames } from "./sans.js";

/** The input of the rules: a parsed request (such as `CertificateRequest`) and the usages of the object. */
export interface SignerQuestion {
  readonly request: { readonly subject: DistinguishedName; readonly sans: SubjectAltNames };
  readonly usages: readonly string[];
}

export interface SignerRule {
  /** the condition, for people: `O is system:nodes and nothing else` */
  readonly name: string;
  /** the value in the request, for people: `O=devs` */
  seen(question: SignerQuestion): string;
  /** @returns undefined when the rule holds, otherwise upstream's text, which becomes the Failed condition's message */
  problem(question: SignerQuestion): string | undefined;
}

/** The result of one rule. */
export interface RuleOutcome {
  readonly rule: string;
  readonly seen: string;
  readonly ok: boolean;
  /** upstream's text; only for a rule that does not hold */
  readonly message?: string;
}

export interface Signer {
  /** spec.signerName */
  readonly name: string;
  /** the use of its certificates */
  readonly purpose: string;
  /** who approves its requests */
  readonly approval: string;
  /** the function that the rules mirror */
  readonly upstream: { readonly file: string; readonly func: string };
  /** in upstream's order: the message is that of the first rule that fails */
  readonly rules: readonly SignerRule[];
  /** enforced by admission when the object is created, so that the signer never sees a violation */
  readonly creationRules: readonly SignerRule[];
  /** the usual usages of a request; key encipherment may be added */
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

/** Exactly these usages as a set, with or without key encipherment, for any kind of key. */
function usagesAre(purpose: "client auth" | "server auth"): SignerRule {
  const full = ["digital signature", "key encipherment", purpose].sort();
  return {
    name: `usages are digital signature and ${purpose}, optionally key encipherment`,
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
  name: "only the usages client auth, digital signature, key encipherment",
  seen: ({ usages }) => list(usages),
  problem: ({ usages }) => {
    const other = usages.find((usage) => !OPTIONAL_CLIENT_USAGES.has(usage));
    return other === undefined ? undefined : `invalid usage for client certificate: ${other}`;
  },
};

const hasClientAuth: SignerRule = {
  name: "usages include client auth",
  seen: ({ usages }) => list(usages),
  problem: ({ usages }) =>
    usages.includes("client auth") ? undefined : "missing required usage for client certificate: client auth",
};

/** Members of this group have all rights, and RBAC cannot revoke them. */
const notSystemMasters: SignerRule = {
  name: "O is not system:masters (checked when the object is created)",
  seen: ({ request }) => list(request.subject.organization.map((one) => `O=${one}`)),
  problem: ({ request }) =>
    request.subject.organization.includes("system:masters")
      ? `use of ${KUBE_APISERVER_CLIENT} signer with system:masters group is not allowed`
      : undefined,
};

/** The signers of the cluster's own CA with their rules, which the signing controller, the approver and `csr inspect` share. */
export const SIGNERS: readonly Signer[] = [
  {
    name: KUBE_APISERVER_CLIENT_KUBELET,
    purpose: "a kubelet's client certificate, with which a node authenticates to the API server",
    approval: "csrapproving, if the requester may create .../nodeclient or .../selfnodeclient",
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
    purpose: "a kubelet's serving certificate, which it presents on port 10250",
    approval: "by hand: Kubernetes has no controller that approves it",
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

/** @returns undefined for a signer of another CA */
export function findSigner(signerName: string): Signer | undefined {
  return SIGNERS.find((signer) => signer.name === signerName);
}

/** Evaluates every rule, also after a failure, so that a learner sees all problems. */
export function evaluateSigner(signer: Signer, question: SignerQuestion): RuleOutcome[] {
  return evaluateRules(signer.rules, question);
}

/** Evaluates the rules in their order. */
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
