import type { FlagNotation } from "./flag-notation.js";

/** Verbs and flags of kubectl 1.32 that the built-in one lacks: they need an installed kubectl. Any other unknown word is a typo. */

/** Verbs, with aliases that many texts use. */
export const LACKING_VERBS: readonly string[] = [
  ..."api-resources api-versions attach autoscale cluster-info completion cp debug diff drain edit events".split(" "),
  ..."explain kustomize options plugin port-forward proxy wait".split(" "),
  ..."clusterrole clusterrolebinding cronjob ingress job poddisruptionbudget pdb priorityclass"
    .split(" ")
    .map((kind) => `create ${kind}`),
  ..."role rolebinding service serviceaccount sa token".split(" ").map((kind) => `create ${kind}`),
  "create secret tls",
  "set serviceaccount",
  "set subject",
  "rollout pause",
  "rollout resume",
  "auth reconcile",
  ..."current-context delete-cluster delete-context delete-user get-clusters get-contexts get-users rename-context set unset"
    .split(" ")
    .map((name) => `config ${name}`),
];

/** Flags of every verb. */
export const LACKING_GLOBAL_FLAGS: FlagNotation =
  "as= as-group= as-uid= cache-dir= certificate-authority= client-certificate= client-key= cluster= disable-compression insecure-skip-tls-verify log-flush-frequency= match-server-version password= profile= profile-output= request-timeout= server|s= tls-server-name= user= username= vmodule= warnings-as-errors";

const TEMPLATES = "allow-missing-template-keys show-managed-fields template=";
const FOLDERS = "kustomize|k= recursive|R";
const WRITES = `${TEMPLATES} dry-run= field-manager= output|o=`;
const CREATES = `${WRITES} save-config validate=`;
const DELETES = "cascade= force grace-period= timeout= wait";
const MARKS = `${TEMPLATES} ${FOLDERS} all-namespaces|A dry-run= field-manager= list resource-version=`;
const SETS = `${WRITES} ${FOLDERS} local`;
const SECRETS = `${CREATES} append-hash from-env-file= from-file=`;
const APPROVES = `${TEMPLATES} ${FOLDERS} filename|f= force output|o=`;
const RUNS = "annotations= attach command expose leave-stdin-open override-type= pod-running-timeout= port= privileged";

/** By verb of the built-in kubectl. */
export const LACKING_FLAGS: Readonly<Record<string, FlagNotation>> = {
  get: `${TEMPLATES} ${FOLDERS} chunk-size= label-columns|L= output-watch-events server-print show-kind sort-by= subresource= watch-only`,
  describe: `${FOLDERS} chunk-size= show-events`,
  create: `${CREATES} ${FOLDERS} edit selector|l= windows-line-endings`,
  "create namespace": CREATES,
  "create deployment": CREATES,
  "create configmap": SECRETS,
  "create quota": `${CREATES} scopes=`,
  "create secret generic": SECRETS,
  "create secret docker-registry": `${SECRETS} docker-email=`,
  apply: `${TEMPLATES} ${FOLDERS} ${DELETES} all openapi-patch output|o= overwrite prune prune-allowlist= selector|l= subresource= validate=`,
  replace: `${CREATES} ${FOLDERS} raw= subresource= timeout= wait`,
  patch: `${WRITES} ${FOLDERS} local`,
  run: `${CREATES} ${FOLDERS} ${DELETES} ${RUNS} filename|f= quiet|q rm stdin|i tty|t`,
  delete: `${FOLDERS} all-namespaces|A dry-run= interactive|i output|o= raw= timeout=`,
  label: MARKS,
  annotate: MARKS,
  taint: `${WRITES} validate=`,
  cordon: "dry-run=",
  uncordon: "dry-run=",
  scale: `${TEMPLATES} ${FOLDERS} current-replicas= dry-run= output|o= resource-version= timeout=`,
  expose: `${WRITES} ${FOLDERS} external-ip= filename|f= labels|l= load-balancer-ip= override-type= overrides= save-config selector= session-affinity=`,
  "set image": SETS,
  "set env": `${SETS} env|e= from= keys= list overwrite prefix= resolve`,
  "set resources": SETS,
  "set selector": `${SETS} all filename|f= resource-version=`,
  "rollout status": `${FOLDERS} revision=`,
  "rollout history": `${TEMPLATES} ${FOLDERS} output|o= revision=`,
  "rollout undo": `${TEMPLATES} ${FOLDERS} dry-run= output|o=`,
  "rollout restart": `${WRITES} ${FOLDERS}`,
  "top pod": "containers field-selector= sort-by= sum use-protocol-buffers",
  "top node": "show-capacity sort-by= use-protocol-buffers",
  logs: "all-containers all-pods ignore-errors insecure-skip-tls-verify-backend limit-bytes= max-log-requests= pod-running-timeout= prefix selector|l= since= since-time= timestamps",
  exec: "filename|f= pod-running-timeout= quiet|q",
  "certificate approve": APPROVES,
  "certificate deny": APPROVES,
  "auth can-i": "all-namespaces|A list no-headers quiet|q subresource=",
  "auth whoami": TEMPLATES,
  "config view": `${TEMPLATES} flatten merge=`,
  "config set-cluster": "proxy-url=",
  "config set-credentials":
    "auth-provider= auth-provider-arg= exec-api-version= exec-arg= exec-command= exec-env= exec-interactive-mode= exec-provide-cluster-info",
};
