import type { EnumTable, Field, FieldTable, MessageType } from "../apimachinery/protobuf/fields.js";
import type { Service } from "./grpc/rpc.js";
import { IMAGE_SERVICE, RUNTIME_SERVICE } from "./services.js";

/**
 * The tables of runtime.v1 as a .proto file, for tools that take one (`grpcurl -proto`), and for comparing the tables
 * with another implementation of protocol buffers.
 */
export function criProtoText(): string {
  return protoText("runtime.v1", { RuntimeService: RUNTIME_SERVICE, ImageService: IMAGE_SERVICE });
}

/** Services with their messages as a .proto file. @param packageName `runtime.v1` */
export function protoText(packageName: string, services: Readonly<Record<string, Service>>): string {
  const messages = allMessages(Object.values(services));
  const enums = allEnums(messages);
  return [
    'syntax = "proto3";',
    `package ${packageName};`,
    ...Object.entries(services).map(([name, service]) => serviceText(name, service)),
    ...enums.filter(({ within }) => within === undefined).map((table) => enumText(table, "")),
    ...messages.map((message) => messageText(message, enums)),
    "",
  ].join("\n\n");
}

/** Every message of the services' requests and responses, once. */
export function allMessages(services: readonly Service[]): readonly MessageType<FieldTable>[] {
  const found = new Map<string, MessageType<FieldTable>>();
  const add = (message: MessageType<FieldTable>): void => {
    if (found.has(message.name)) return;
    found.set(message.name, message);
    for (const { kind } of Object.values(message.fields)) if (kind.type === "message") add(kind.of);
  };
  for (const rpc of services.flatMap((service) => Object.values(service))) {
    add(rpc.request);
    add(rpc.response);
  }
  return [...found.values()];
}

function allEnums(messages: readonly MessageType<FieldTable>[]): readonly EnumTable[] {
  const found = new Map<string, EnumTable>();
  for (const { kind } of messages.flatMap((message) => Object.values(message.fields))) {
    if (kind.type === "enum") found.set(kind.of.name, kind.of);
  }
  return [...found.values()];
}

function serviceText(name: string, service: Service): string {
  const rpcs = Object.values(service).map(
    (rpc) => `  rpc ${rpc.name}(${rpc.request.name}) returns (${rpc.isStream ? "stream " : ""}${rpc.response.name});`,
  );
  return [`service ${name} {`, ...rpcs, "}"].join("\n");
}

function enumText({ name, values }: EnumTable, indent: string): string {
  const rows = Object.entries(values).map(([value, number]) => `${indent}  ${value} = ${number};`);
  return [`${indent}enum ${name} {`, ...rows, `${indent}}`].join("\n");
}

function messageText(message: MessageType<FieldTable>, enums: readonly EnumTable[]): string {
  const own = enums.filter(({ within }) => within === message.name).map((table) => enumText(table, "  "));
  const rows = Object.entries(message.fields)
    .sort(([, a], [, b]) => a.number - b.number)
    .map(([name, field]) => `  ${typeText(field)} ${protoName(name, field)} = ${field.number};`);
  return [`message ${message.name} {`, ...own, ...rows, "}"].join("\n");
}

function typeText({ kind, isRepeated }: Field): string {
  if (kind.type === "map") return "map<string, string>";
  const type = kind.type === "scalar" ? kind.scalar : kind.of.name;
  return isRepeated ? `repeated ${type}` : type;
}

/** `podSandboxId`: `pod_sandbox_id`, except for a few that upstream spells differently. */
export function protoName(name: string, field: Field): string {
  return field.protoName ?? name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
