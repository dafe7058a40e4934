import type { ComponentChildren } from "preact";
import { counted } from "../../../../util/text/counted.js";
import { say } from "../language.js";
import type { PageState } from "../state.js";
import type { Cluster, Container, Node, Pod } from "./cluster.js";
import { containerStatus, nodeStatus, podStatus, SIGNS, type Status } from "./status.js";
import { keyOf, type Thing, thingWords } from "./things.js";

/** How much of each pod a picture has room for: all containers, the name, or a sign. */
export type Density = "cards" | "names" | "signs";

/** The most signs that a reader can distinguish. */
const MAX_PODS = 250;
const MAX_SERVICES = 12;

interface PartProps {
  readonly state: PageState;
  readonly thing: Thing;
  /** below the name */
  readonly words?: string;
  /** it does not exist at this moment */
  readonly isGhost?: boolean;
  readonly children?: ComponentChildren;
}

/** A component of the cluster. */
export function Part({ state, thing, words = "", isGhost = false, children }: PartProps) {
  return (
    <ThingButton
      state={state}
      thing={thing}
      class={`part ${thing.kind}${ghost(isGhost)}`}
      label={[thingWords(thing), words].filter(Boolean).join(", ")}
    >
      <b>{children ?? say(thingWords({ ...thing, name: "" }))}</b>
      {words !== "" && <span class="sub">{words}</span>}
    </ThingButton>
  );
}

interface ThingButtonProps extends PartProps {
  readonly class: string;
  readonly label: string;
}

/** Selects a thing. The wires find it by `data-key`. */
function ThingButton({ state, thing, class: name, label, children }: ThingButtonProps) {
  const chosen = state.filter.value.thing;
  const key = keyOf(thing);
  return (
    <button
      type="button"
      class={name}
      data-key={key}
      aria-label={label}
      aria-pressed={chosen !== undefined && keyOf(chosen) === key}
      title={label}
      onClick={() => state.choose(thing)}
    >
      {children}
    </button>
  );
}

interface NodeBoxProps extends PodsProps {
  /** as the whole trace knows it */
  readonly node: Node;
  /** Unix ms */
  readonly nowMs: number;
}

/** A node with its kubelet, its runtime, its kube-proxy and its pods. */
export function NodeBox({ state, node, cluster, nowMs, pods, density }: NodeBoxProps) {
  const { name } = node;
  // It may not have had its name yet.
  const now = cluster.nodes.get(name) ?? cluster.nodes.get("");
  const status = now === undefined ? NOT_THERE : nodeStatus(now);
  const title = name === "" ? say("this node") : name;
  const label = [`node ${title}`, status.words, leaseWords(now, nowMs), counted(pods.length, "pod")];
  const part = (kind: "kubelet" | "runtime" | "proxy", isGhost: boolean) => (
    <Part state={state} thing={{ kind, name }} isGhost={isGhost} />
  );
  return (
    <article class={`node${ghost(now === undefined)}`} aria-label={label.filter(Boolean).join(", ")}>
      <div class="node-head">
        <ThingButton
          state={state}
          thing={{ kind: "node", name }}
          class="node-name"
          label={label.filter(Boolean).join(", ")}
        >
          <b>{title}</b>
        </ThingButton>
        <StatusWords status={status} />
        <span class="sub">{leaseWords(now, nowMs)}</span>
      </div>
      <div class="node-parts">
        {node.hasKubelet && part("kubelet", now?.hasKubelet !== true)}
        {node.hasRuntime && part("runtime", now?.hasRuntime !== true)}
        {node.hasProxy && part("proxy", now?.hasProxy !== true)}
      </div>
      <Pods state={state} pods={pods} cluster={cluster} density={density} />
    </article>
  );
}

/** What does not exist yet, or no longer. */
const NOT_THERE: Status = { tone: "unknown", words: "" };

function ghost(isGhost: boolean): string {
  return isGhost ? " ghost" : "";
}

/** How long ago the node renewed its Lease. */
function leaseWords(node: Node | undefined, nowMs: number): string {
  if (node?.renewTime === undefined) return "";
  const age = Math.round((nowMs - Date.parse(node.renewTime)) / 1000);
  return Number.isNaN(age) || age < 0 ? "" : say("Lease renewed {1} s ago", age);
}

interface ServicesProps {
  readonly state: PageState;
  readonly names: readonly string[];
  readonly cluster: Cluster;
}

/** The Services of the API. */
export function Services({ state, names, cluster }: ServicesProps) {
  if (names.length === 0) return null;
  return (
    <section class="services" aria-label={counted(names.length, "service")}>
      <b>{say("services")}</b>
      <div class="containers">
        {names.slice(0, MAX_SERVICES).map((name) => (
          <ThingButton
            key={name}
            state={state}
            thing={{ kind: "service", name }}
            class={`container${ghost(!cluster.services.has(name))}`}
            label={`service ${name}`}
          >
            {name}
          </ThingButton>
        ))}
        {names.length > MAX_SERVICES && <span class="sub">{say("and {1} more", names.length - MAX_SERVICES)}</span>}
      </div>
    </section>
  );
}

interface PodsProps {
  readonly state: PageState;
  /** as the whole trace knows them */
  readonly pods: readonly Pod[];
  /** at this moment */
  readonly cluster: Cluster;
  readonly density: Density;
}

/** The pods of a node, or those without one. */
export function Pods({ state, pods, cluster, density }: PodsProps) {
  if (pods.length === 0) return null;
  return (
    <div class={`pods ${density}`}>
      {pods.slice(0, MAX_PODS).map((pod) => {
        const now = cluster.pods.get(pod.name);
        return density === "cards" ? (
          <PodCard key={pod.name} state={state} pod={pod} now={now} />
        ) : (
          <PodSign key={pod.name} state={state} pod={pod} now={now} hasName={density === "names"} />
        );
      })}
      {pods.length > MAX_PODS && <span class="sub">{say("and {1} more", pods.length - MAX_PODS)}</span>}
    </div>
  );
}

interface PodProps {
  readonly state: PageState;
  readonly pod: Pod;
  /** undefined: it does not exist */
  readonly now: Pod | undefined;
}

function PodSign({ state, pod, now, hasName }: PodProps & { readonly hasName: boolean }) {
  const status = now === undefined ? NOT_THERE : podStatus(now);
  const thing: Thing = { kind: "pod", name: pod.name };
  const classes = `pod ${status.tone}${ghost(now === undefined)}`;
  return (
    <ThingButton state={state} thing={thing} class={classes} label={podLabel(pod, now, status)}>
      <span class="sign-of" aria-hidden="true">
        {SIGNS[status.tone]}
      </span>
      {hasName && ` ${pod.name.slice(pod.name.indexOf("/") + 1)}`}
    </ThingButton>
  );
}

function PodCard({ state, pod, now }: PodProps) {
  const status = now === undefined ? NOT_THERE : podStatus(now);
  const [namespace, ...rest] = pod.name.split("/");
  const isWaiting = now !== undefined && now.node === undefined;
  return (
    <div class={`pod ${status.tone}${ghost(now === undefined || isWaiting)}`}>
      <ThingButton
        state={state}
        thing={{ kind: "pod", name: pod.name }}
        class="pod-name"
        label={podLabel(pod, now, status)}
      >
        {namespace !== "default" && <span class="sub">{namespace}/</span>}
        <b>{rest.join("/")}</b>
      </ThingButton>
      <StatusWords status={status} />
      {[...pod.containers.keys()].map((name) => (
        <ContainerChip key={name} state={state} pod={pod} name={name} container={now?.containers.get(name)} />
      ))}
    </div>
  );
}

interface ContainerChipProps {
  readonly state: PageState;
  readonly pod: Pod;
  readonly name: string;
  /** undefined: it does not exist */
  readonly container: Container | undefined;
}

function ContainerChip({ state, pod, name, container }: ContainerChipProps) {
  const { tone, words } = container === undefined ? NOT_THERE : containerStatus(container);
  const thing: Thing = { kind: "container", name: `${pod.name}/${name}` };
  return (
    <ThingButton
      state={state}
      thing={thing}
      class={`container ${tone}${ghost(container === undefined)}`}
      label={[thingWords(thing), words].filter(Boolean).join(", ")}
    >
      <span>
        <span class="sign-of" aria-hidden="true">
          {SIGNS[tone]}
        </span>{" "}
        {name} <span class="sub">{words}</span>
      </span>
    </ThingButton>
  );
}

function StatusWords({ status: { tone, words } }: { readonly status: Status }) {
  return (
    <span class={`status ${tone}`}>
      {words !== "" && (
        <span class="sign-of" aria-hidden="true">
          {SIGNS[tone]}
        </span>
      )}{" "}
      {words}
    </span>
  );
}

function podLabel(pod: Pod, now: Pod | undefined, { words }: Status): string {
  if (now === undefined) return `pod ${pod.name}, does not exist`;
  const containers = [...now.containers.values()].map((one) => `${one.name} ${containerStatus(one).words}`);
  return [`pod ${pod.name}`, words, ...containers].filter(Boolean).join(", ");
}
