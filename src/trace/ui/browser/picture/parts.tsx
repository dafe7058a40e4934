import type { ComponentChildren } from "preact";
import { counted } from "../../../../util/text/counted.js";
import type { PageState } from "../state.js";
import type { Container, Node, Pod } from "./cluster.js";
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
  readonly children?: ComponentChildren;
}

/** A component of the cluster. */
export function Part({ state, thing, words = "", children }: PartProps) {
  return (
    <ThingButton state={state} thing={thing} class={`part ${thing.kind}`} label={[thingWords(thing), words].join(", ")}>
      <b>{children ?? thingWords({ ...thing, name: "" })}</b>
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

/** A node with its kubelet, its runtime, its kube-proxy and its pods. */
export function NodeBox({ state, node, pods, density }: PodsProps & { readonly node: Node }) {
  const { name } = node;
  const status = nodeStatus(node);
  const lease = node.renewTime === undefined ? "" : `Lease ${node.renewTime.slice(11, 19)}`;
  const title = name === "" ? "this node" : name;
  const label = [`node ${title}`, status.words, lease, counted(pods.length, "pod")].filter(Boolean).join(", ");
  return (
    <article class="node" aria-label={label}>
      <div class="node-head">
        <ThingButton state={state} thing={{ kind: "node", name }} class="node-name" label={label}>
          <b>{title}</b>
        </ThingButton>
        {status.words !== "" && <StatusWords status={status} />}
        {lease !== "" && <span class="sub">{lease}</span>}
      </div>
      <div class="node-parts">
        {node.hasKubelet && <Part state={state} thing={{ kind: "kubelet", name }} />}
        {node.hasRuntime && <Part state={state} thing={{ kind: "runtime", name }} />}
        {node.hasProxy && <Part state={state} thing={{ kind: "proxy", name }} />}
      </div>
      <Pods state={state} pods={pods} density={density} />
    </article>
  );
}

/** The Services of the API. */
export function Services({ state, names }: { readonly state: PageState; readonly names: readonly string[] }) {
  if (names.length === 0) return null;
  return (
    <section class="services" aria-label={counted(names.length, "service")}>
      <b>services</b>
      <div class="containers">
        {names.slice(0, MAX_SERVICES).map((name) => (
          <ThingButton
            key={name}
            state={state}
            thing={{ kind: "service", name }}
            class="container"
            label={`service ${name}`}
          >
            {name}
          </ThingButton>
        ))}
        {names.length > MAX_SERVICES && <span class="sub">and {names.length - MAX_SERVICES} more</span>}
      </div>
    </section>
  );
}

interface PodsProps {
  readonly state: PageState;
  readonly pods: readonly Pod[];
  readonly density: Density;
}

/** The pods of a node, or those without one. */
export function Pods({ state, pods, density }: PodsProps) {
  if (pods.length === 0) return null;
  return (
    <div class={`pods ${density}`}>
      {pods
        .slice(0, MAX_PODS)
        .map((pod) =>
          density === "cards" ? (
            <PodCard key={pod.name} state={state} pod={pod} />
          ) : (
            <PodSign key={pod.name} state={state} pod={pod} hasName={density === "names"} />
          ),
        )}
      {pods.length > MAX_PODS && <span class="sub">and {pods.length - MAX_PODS} more</span>}
    </div>
  );
}

interface PodProps {
  readonly state: PageState;
  readonly pod: Pod;
}

function PodSign({ state, pod, hasName }: PodProps & { readonly hasName: boolean }) {
  const status = podStatus(pod);
  const thing: Thing = { kind: "pod", name: pod.name };
  return (
    <ThingButton state={state} thing={thing} class={`pod ${status.tone}`} label={podLabel(pod, status)}>
      <span class="sign-of" aria-hidden="true">
        {SIGNS[status.tone]}
      </span>
      {hasName && ` ${pod.name.slice(pod.name.indexOf("/") + 1)}`}
    </ThingButton>
  );
}

function PodCard({ state, pod }: PodProps) {
  const status = podStatus(pod);
  const [namespace, ...rest] = pod.name.split("/");
  return (
    <div class={`pod ${status.tone}`}>
      <div class="pod-head">
        <ThingButton
          state={state}
          thing={{ kind: "pod", name: pod.name }}
          class="pod-name"
          label={podLabel(pod, status)}
        >
          <span class="sub">{namespace}/</span>
          <b>{rest.join("/")}</b>
        </ThingButton>
        <StatusWords status={status} />
      </div>
      {pod.containers.size > 0 && (
        <div class="containers">
          {[...pod.containers.values()].map((container) => (
            <ContainerChip key={container.name} state={state} pod={pod} container={container} />
          ))}
        </div>
      )}
    </div>
  );
}

interface ContainerChipProps {
  readonly state: PageState;
  readonly pod: Pod;
  readonly container: Container;
}

function ContainerChip({ state, pod, container }: ContainerChipProps) {
  const { tone, words } = containerStatus(container);
  const thing: Thing = { kind: "container", name: `${pod.name}/${container.name}` };
  return (
    <ThingButton state={state} thing={thing} class={`container ${tone}`} label={`${thingWords(thing)}, ${words}`}>
      <span class="sign-of" aria-hidden="true">
        {SIGNS[tone]}
      </span>{" "}
      {container.name} <span class="sub">{words}</span>
    </ThingButton>
  );
}

function StatusWords({ status: { tone, words } }: { readonly status: Status }) {
  if (words === "") return null;
  return (
    <span class={`status ${tone}`}>
      <span class="sign-of" aria-hidden="true">
        {SIGNS[tone]}
      </span>{" "}
      {words}
    </span>
  );
}

function podLabel(pod: Pod, { words }: Status): string {
  const containers = [...pod.containers.values()].map((one) => `${one.name} ${containerStatus(one).words}`);
  return [`pod ${pod.name}`, words, ...containers].filter(Boolean).join(", ");
}
