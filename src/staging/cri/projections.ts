import {
  type DecodedFields,
  type Encoded,
  type Field,
  type FieldTable,
  type InitFields,
  many,
  one,
} from "../apimachinery/protobuf/fields.js";
import { type Message, message } from "../apimachinery/protobuf/message.js";
import type { UnaryRpc } from "./grpc/rpc.js";
import { RUNTIME_SERVICE } from "./services.js";

type ListOf<Name extends string, F extends FieldTable> = {
  readonly [K in Name]: Field<readonly DecodedFields<F>[], readonly (InitFields<F> | Encoded)[]>;
};
type RequestFields<R> = R extends { readonly request: Message<infer F> } ? F : never;

export type ListPodSandboxRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.listPodSandbox>,
  ListOf<"items", F>
>;
export type ListContainersRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.listContainers>,
  ListOf<"containers", F>
>;

/** ListPodSandbox with a smaller table for its items: other fields are skipped, not decoded. */
export function listPodSandboxOf<F extends FieldTable>(item: Message<F>): ListPodSandboxRpc<F> {
  const { listPodSandbox } = RUNTIME_SERVICE;
  return { ...listPodSandbox, response: message(listPodSandbox.response.name, { items: many(1, item) }) };
}

/** ListContainers with a smaller table for its items. */
export function listContainersOf<F extends FieldTable>(item: Message<F>): ListContainersRpc<F> {
  const { listContainers } = RUNTIME_SERVICE;
  return { ...listContainers, response: message(listContainers.response.name, { containers: many(1, item) }) };
}

export type ListContainerStatsRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.listContainerStats>,
  ListOf<"stats", F>
>;

/** ListContainerStats with a smaller table for its items. */
export function listContainerStatsOf<F extends FieldTable>(item: Message<F>): ListContainerStatsRpc<F> {
  const { listContainerStats } = RUNTIME_SERVICE;
  return { ...listContainerStats, response: message(listContainerStats.response.name, { stats: many(1, item) }) };
}

export type ListPodSandboxStatsRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.listPodSandboxStats>,
  ListOf<"stats", F>
>;

/** ListPodSandboxStats with a smaller table for its items. */
export function listPodSandboxStatsOf<F extends FieldTable>(item: Message<F>): ListPodSandboxStatsRpc<F> {
  const { listPodSandboxStats } = RUNTIME_SERVICE;
  return { ...listPodSandboxStats, response: message(listPodSandboxStats.response.name, { stats: many(1, item) }) };
}

type StatusOf<F extends FieldTable> = { readonly status: Field<DecodedFields<F> | undefined, InitFields<F> | Encoded> };

export type PodSandboxStatusRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.podSandboxStatus>,
  StatusOf<F>
>;
export type ContainerStatusRpc<F extends FieldTable> = UnaryRpc<
  RequestFields<typeof RUNTIME_SERVICE.containerStatus>,
  StatusOf<F>
>;

/** PodSandboxStatus with a smaller table for the status, and no other fields. */
export function podSandboxStatusOf<F extends FieldTable>(status: Message<F>): PodSandboxStatusRpc<F> {
  const { podSandboxStatus } = RUNTIME_SERVICE;
  return { ...podSandboxStatus, response: message(podSandboxStatus.response.name, { status: one(1, status) }) };
}

/** ContainerStatus with a smaller table for the status. */
export function containerStatusOf<F extends FieldTable>(status: Message<F>): ContainerStatusRpc<F> {
  const { containerStatus } = RUNTIME_SERVICE;
  return { ...containerStatus, response: message(containerStatus.response.name, { status: one(1, status) }) };
}
