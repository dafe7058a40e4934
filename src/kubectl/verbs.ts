import { apply } from "./cmd/apply.js";
import { canI, whoAmI } from "./cmd/auth.js";
import { certificate } from "./cmd/certificates.js";
import { viewConfig } from "./cmd/config.js";
import { create, createNamed } from "./cmd/create.js";
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
import { describe } from "./describe/describe.js";
import type { FlagNotation } from "./flag-notation.js";
import type { Verb } from "./session.js";

/** A verb with its flags; `undefined` for those that change a kubeconfig, which need no cluster. */
interface VerbRow {
  readonly flags: FlagNotation;
  readonly run: Verb | undefined;
}

const FILES = "filename|f=";
const SELECT = `selector|l= ${FILES}`;
const SELECT_ALL = `${SELECT} all`;
const IN_ALL = "all-namespaces|A";
const LITERALS = "from-literal=";

/** Everything that the built-in kubectl supports: the lines of the labs, and a little more. */
export const VERBS: Readonly<Record<string, VerbRow>> = {
  get: {
    flags: `output|o= ${SELECT} field-selector= ${IN_ALL} no-headers show-labels ignore-not-found watch|w raw=`,
    run: get,
  },
  describe: { flags: `${SELECT} ${IN_ALL}`, run: describe },
  create: { flags: `${FILES} raw=`, run: create },
  "create namespace": { flags: "", run: createNamed },
  "create configmap": { flags: LITERALS, run: createNamed },
  "create quota": { flags: "hard=", run: createNamed },
  "create secret generic": { flags: `${LITERALS} type=`, run: createNamed },
  "create secret docker-registry": {
    flags: "docker-server= docker-username= docker-password=",
    run: createNamed,
  },
  apply: { flags: `${FILES} server-side field-manager= force-conflicts dry-run=`, run: apply },
  replace: { flags: FILES, run: replace },
  patch: { flags: `patch|p= patch-file= type= subresource= ${FILES}`, run: patch },
  run: { flags: "image= image-pull-policy= restart= env= labels|l= overrides=", run },
  delete: {
    flags: `${SELECT_ALL} field-selector= ignore-not-found wait=true cascade=background grace-period= now force`,
    run: remove,
  },
  label: {
    flags: `${SELECT_ALL} field-selector= overwrite local output|o=`,
    run: (session, line) => mark(session, line, "labels"),
  },
  annotate: {
    flags: `${SELECT_ALL} field-selector= overwrite local output|o=`,
    run: (session, line) => mark(session, line, "annotations"),
  },
  taint: { flags: "selector|l= all overwrite", run: taint },
  cordon: { flags: "selector|l=", run: cordon },
  uncordon: { flags: "selector|l=", run: cordon },
  scale: { flags: `replicas= ${SELECT_ALL}`, run: scale },
  expose: { flags: "port= name= cluster-ip= target-port= protocol= type=", run: expose },
  "set image": { flags: SELECT_ALL, run: setImage },
  "set env": { flags: `${SELECT_ALL} containers|c=`, run: setEnv },
  "set resources": { flags: `${SELECT_ALL} limits= requests= containers|c=`, run: setResources },
  "set selector": { flags: "", run: setSelector },
  "rollout status": { flags: `${SELECT} watch|w`, run: rolloutStatus },
  "rollout history": { flags: SELECT, run: rolloutHistory },
  "rollout undo": { flags: `${SELECT} to-revision=`, run: rolloutUndo },
  "rollout restart": { flags: SELECT, run: rolloutRestart },
  "top pod": { flags: `selector|l= ${IN_ALL} no-headers`, run: topPod },
  "top node": { flags: "selector|l= no-headers", run: topNode },
  logs: { flags: "container|c= tail= previous|p", run: logs },
  exec: { flags: "container|c= stdin|i tty|t", run: exec },
  "certificate approve": { flags: "", run: certificate },
  "certificate deny": { flags: "", run: certificate },
  "auth can-i": { flags: "", run: canI },
  "auth whoami": { flags: "output|o=", run: whoAmI },
  "config view": { flags: "raw minify output|o=", run: viewConfig },
  "config set-cluster": { flags: "server= certificate-authority= embed-certs", run: undefined },
  "config set-credentials": { flags: "client-certificate= client-key= embed-certs", run: undefined },
  "config set-context": { flags: "cluster= user= current", run: undefined },
  "config use-context": { flags: "", run: undefined },
};
