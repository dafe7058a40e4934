import { apply } from "./cmd/apply.js";
import { canI, whoAmI } from "./cmd/auth.js";
import { certificate } from "./cmd/certificates.js";
import { viewConfig } from "./cmd/config.js";
import { create, createNamed } from "./cmd/create.js";
import { createDeployment } from "./cmd/create-deployment.js";
import { remove } from "./cmd/delete.js";
import { cordon } from "./cmd/drain.js";
import { exec } from "./cmd/exec.js";
import { expose } from "./cmd/expose.js";
import { get } from "./cmd/get.js";
import { mark } from "./cmd/label.js";
import { logs } from "./cmd/logs.js";
import { patch } from "./cmd/patch.js";
import { replace } from "./cmd/replace.js";
import { rolloutHistory, rolloutRestart, rolloutStatus, rolloutUndo } from "./cmd/rollout.js";
import { run } from "./cmd/run.js";
import { scale } from "./cmd/scale.js";
import { setEnv, setImage, setResources, setSelector } from "./cmd/set.js";
import { taint } from "./cmd/taint.js";
import { topNode, topPod } from "./cmd/top.js";
import { version } from "./cmd/version.js";
import { describe } from "./describe/describe.js";
import type { FlagNotation } from "./flag-notation.js";
import type { Verb } from "./session.js";

/** One verb. */
interface VerbRow {
  /** a summary in kubectl's words, which are English in any language */
  readonly about: string;
  /** the arguments, as `--help` shows them */
  readonly args: string;
  readonly flags: FlagNotation;
  /** undefined for verbs that change a kubeconfig, which need no cluster */
  readonly run: Verb | undefined;
}

const OBJECTS = "(TYPE [NAME ...] | TYPE/NAME ...)";
const OBJECT = "(TYPE NAME | TYPE/NAME)";
const FILES = "filename|f=";
const SELECT = `selector|l= ${FILES}`;
const SELECT_ALL = `${SELECT} all`;
const IN_ALL = "all-namespaces|A";
const LITERALS = "from-literal=";

/** Everything that the built-in kubectl supports: the lines of the labs, and a little more. */
export const VERBS: Readonly<Record<string, VerbRow>> = {
  get: {
    about: "Display one or many resources",
    args: OBJECTS,
    flags: `output|o= ${SELECT} field-selector= ${IN_ALL} no-headers show-labels ignore-not-found watch|w raw=`,
    run: get,
  },
  describe: {
    about: "Show details of one or many resources",
    args: OBJECTS,
    flags: `${SELECT} ${IN_ALL}`,
    run: describe,
  },
  create: {
    about: "Create a resource from a file or from stdin",
    args: "-f FILE",
    flags: `${FILES} raw=`,
    run: create,
  },
  "create namespace": {
    about: "Create a namespace with the specified name",
    args: "NAME",
    flags: "",
    run: createNamed,
  },
  "create deployment": {
    about: "Create a deployment with the specified name",
    args: "NAME --image=IMAGE [-- COMMAND ...]",
    flags: "image= replicas|r= port=",
    run: createDeployment,
  },
  "create configmap": {
    about: "Create a config map from literal values",
    args: "NAME [--from-literal=KEY=VALUE]",
    flags: LITERALS,
    run: createNamed,
  },
  "create quota": {
    about: "Create a quota with the specified name",
    args: "NAME [--hard=KEY=VALUE,KEY=VALUE]",
    flags: "hard=",
    run: createNamed,
  },
  "create secret generic": {
    about: "Create a secret from literal values",
    args: "NAME [--from-literal=KEY=VALUE]",
    flags: `${LITERALS} type=`,
    run: createNamed,
  },
  "create secret docker-registry": {
    about: "Create a secret for use with a Docker registry",
    args: "NAME --docker-username=USER",
    flags: "docker-server= docker-username= docker-password=",
    run: createNamed,
  },
  apply: {
    about: "Apply a configuration from a file or from stdin",
    args: "-f FILE",
    flags: `${FILES} server-side field-manager= force-conflicts dry-run=`,
    run: apply,
  },
  replace: {
    about: "Replace a resource by file name or stdin",
    args: "-f FILE",
    flags: `${FILES} force cascade=background grace-period=`,
    run: replace,
  },
  patch: {
    about: "Update fields of a resource",
    args: `${OBJECT} -p PATCH`,
    flags: `patch|p= patch-file= type= subresource= ${FILES}`,
    run: patch,
  },
  run: {
    about: "Run a particular image on the cluster",
    args: "NAME --image=IMAGE [-- ARG ...]",
    flags: "image= image-pull-policy= restart= env= labels|l= overrides=",
    run,
  },
  delete: {
    about: "Delete resources by file, name or label",
    args: "(-f FILE | TYPE NAME ... | TYPE -l LABEL | TYPE --all)",
    flags: `${SELECT_ALL} field-selector= ignore-not-found wait=true cascade=background grace-period= now force`,
    run: remove,
  },
  label: {
    about: "Update the labels on a resource",
    args: `${OBJECT} KEY=VALUE ... KEY- ...`,
    flags: `${SELECT_ALL} field-selector= overwrite local output|o=`,
    run: (session, line) => mark(session, line, "labels"),
  },
  annotate: {
    about: "Update the annotations on a resource",
    args: `${OBJECT} KEY=VALUE ... KEY- ...`,
    flags: `${SELECT_ALL} field-selector= overwrite local output|o=`,
    run: (session, line) => mark(session, line, "annotations"),
  },
  taint: {
    about: "Update the taints on one or more nodes",
    args: "node NAME KEY=VALUE:EFFECT ... KEY:EFFECT- ...",
    flags: "selector|l= all overwrite",
    run: taint,
  },
  cordon: {
    about: "Mark node as unschedulable",
    args: "NODE",
    flags: "selector|l=",
    run: cordon,
  },
  uncordon: {
    about: "Mark node as schedulable",
    args: "NODE",
    flags: "selector|l=",
    run: cordon,
  },
  scale: {
    about: "Set a new size for a deployment or replica set",
    args: `${OBJECT} --replicas=COUNT`,
    flags: `replicas= ${SELECT_ALL}`,
    run: scale,
  },
  expose: {
    about: "Expose a resource as a new Kubernetes service",
    args: `${OBJECT} [--port=PORT]`,
    flags: "port= name= cluster-ip= target-port= protocol= type=",
    run: expose,
  },
  "set image": {
    about: "Update the image of a pod template",
    args: `${OBJECT} CONTAINER=IMAGE ...`,
    flags: SELECT_ALL,
    run: setImage,
  },
  "set env": {
    about: "Update the environment of a pod template",
    args: `${OBJECT} KEY=VALUE ... KEY- ...`,
    flags: `${SELECT_ALL} containers|c=`,
    run: setEnv,
  },
  "set resources": {
    about: "Update requests and limits of a pod template",
    args: `${OBJECT} [--limits=cpu=1]`,
    flags: `${SELECT_ALL} limits= requests= containers|c=`,
    run: setResources,
  },
  "set selector": {
    about: "Set the selector on a service",
    args: `${OBJECT} KEY=VALUE,KEY=VALUE`,
    flags: "",
    run: setSelector,
  },
  "rollout status": {
    about: "Show the status of the rollout",
    args: OBJECT,
    flags: `${SELECT} watch|w timeout=`,
    run: rolloutStatus,
  },
  "rollout history": {
    about: "View rollout history",
    args: OBJECT,
    flags: SELECT,
    run: rolloutHistory,
  },
  "rollout undo": {
    about: "Undo a previous rollout",
    args: OBJECT,
    flags: `${SELECT} to-revision=`,
    run: rolloutUndo,
  },
  "rollout restart": {
    about: "Restart a resource",
    args: OBJECT,
    flags: SELECT,
    run: rolloutRestart,
  },
  "top pod": {
    about: "Display resource (CPU/memory) usage of pods",
    args: "[NAME]",
    flags: `selector|l= ${IN_ALL} no-headers`,
    run: topPod,
  },
  "top node": {
    about: "Display resource (CPU/memory) usage of nodes",
    args: "[NAME]",
    flags: "selector|l= no-headers",
    run: topNode,
  },
  logs: {
    about: "Print the logs for a container in a pod",
    args: "(POD | TYPE/NAME) [-c CONTAINER]",
    flags: "container|c= follow|f tail= previous|p",
    run: logs,
  },
  exec: {
    about: "Execute a command in a container",
    args: "(POD | TYPE/NAME) [-c CONTAINER] -- COMMAND [ARG ...]",
    flags: "container|c= stdin|i tty|t",
    run: exec,
  },
  "certificate approve": {
    about: "Approve a certificate signing request",
    args: "NAME ...",
    flags: "",
    run: certificate,
  },
  "certificate deny": {
    about: "Deny a certificate signing request",
    args: "NAME ...",
    flags: "",
    run: certificate,
  },
  "auth can-i": {
    about: "Check whether an action is allowed",
    args: "VERB TYPE [NAME]",
    flags: "",
    run: canI,
  },
  "auth whoami": {
    about: "Check self subject attributes",
    args: "",
    flags: "output|o=",
    run: whoAmI,
  },
  version: {
    about: "Print the client and server version information",
    args: "",
    flags: "client output|o=",
    run: version,
  },
  "config view": {
    about: "Display the kubeconfig",
    args: "",
    flags: "raw minify output|o=",
    run: viewConfig,
  },
  "config set-cluster": {
    about: "Set a cluster entry in kubeconfig",
    args: "NAME",
    flags: "server= certificate-authority= embed-certs",
    run: undefined,
  },
  "config set-credentials": {
    about: "Set a user entry in kubeconfig",
    args: "NAME",
    flags: "client-certificate= client-key= embed-certs",
    run: undefined,
  },
  "config set-context": {
    about: "Set a context entry in kubeconfig",
    args: "(NAME | --current)",
    flags: "cluster= user= current",
    run: undefined,
  },
  "config use-context": {
    about: "Set the current-context in a kubeconfig file",
    args: "NAME",
    flags: "",
    run: undefined,
  },
};
