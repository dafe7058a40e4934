import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gunzipSync } from "node:zlib";
import protobuf from "protobufjs";
import descriptor from "protobufjs/ext/descriptor/index.js";
import { criProtoText } from "../../src/staging/cri/proto-text.js";

/** The compared parts of a compiled .proto. Types are numbered as in google/protobuf/descriptor.proto. */
interface FileDescriptor {
  readonly package: string;
  readonly messageType: readonly MessageDescriptor[];
  readonly enumType: readonly { readonly name: string; readonly value: readonly { name: string; number: number }[] }[];
  readonly service: readonly {
    readonly name: string;
    readonly method: readonly { name: string; inputType: string; outputType: string; serverStreaming?: boolean }[];
  }[];
}
interface MessageDescriptor {
  readonly name: string;
  readonly field: readonly { name: string; number: number; type: number; typeName?: string; label: number }[];
  readonly nestedType: readonly { readonly name: string; readonly options?: { readonly mapEntry?: boolean } }[];
}

const SCALARS: Readonly<Record<number, string>> = {
  1: "double",
  3: "int64",
  4: "uint64",
  5: "int32",
  8: "bool",
  9: "string",
  12: "bytes",
  13: "uint32",
};
const REPEATED = 3;
const GZIP = Buffer.from([0x1f, 0x8b, 0x08]);

/**
 * The gzipped descriptor of runtime.v1 from a Go program, which came from upstream's api.proto. Our tables are compared
 * with it.
 */
export function runtimeDescriptor(program: string): FileDescriptor {
  const path = execFileSync("sh", ["-c", `command -v ${program}`], { encoding: "utf8" }).trim();
  const binary = readFileSync(path);
  for (let at = binary.indexOf(GZIP); at >= 0; at = binary.indexOf(GZIP, at + 1)) {
    const text = unzipped(binary.subarray(at, at + 100_000));
    if (text?.subarray(0, 40).includes("runtime.v1\x1a")) {
      return descriptor.FileDescriptorProto.decode(text) as unknown as FileDescriptor;
    }
  }
  throw new Error(`${path} holds no description of runtime.v1`);
}

/** Undefined if the three bytes do not start a gzip stream. Bytes after the stream are ignored. */
function unzipped(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes);
  } catch {
    return undefined;
  }
}

/** Differences of our tables from the descriptor. Entries that only our tables have are newer. */
export function compareWithOurs({ messageType, enumType, service }: FileDescriptor): readonly string[] {
  const ours = protobuf.parse(criProtoText(), { keepCase: true }).root;
  const differences: string[] = [];
  const compare = (name: string, their: unknown, our: unknown) => {
    if (JSON.stringify(their) !== JSON.stringify(our)) differences.push(name);
  };
  const last = (name: string) => name.split(".").at(-1) ?? "";
  for (const { name, field, nestedType } of messageType) {
    const { fields } = ours.lookupType(`runtime.v1.${name}`);
    const maps = new Set(nestedType.filter(({ options }) => options?.mapEntry).map((type) => type.name));
    for (const { name: fieldName, number, type, typeName, label } of field) {
      const base = typeName === undefined || typeName === "" ? SCALARS[type] : last(typeName);
      const isMap = maps.has(base ?? "");
      const our = fields[fieldName];
      compare(
        `${name}.${fieldName}`,
        [number, isMap ? "map" : base, !isMap && label === REPEATED],
        our && [our.id, our.map ? "map" : our.type, our.repeated],
      );
    }
  }
  for (const { name, value } of enumType) {
    const { values } = ours.lookupEnum(`runtime.v1.${name}`);
    for (const one of value) compare(`${name}.${one.name}`, one.number, values[one.name]);
  }
  for (const { name, method } of service) {
    const { methods } = ours.lookupService(`runtime.v1.${name}`);
    for (const { name: rpc, inputType, outputType, serverStreaming } of method) {
      const our = methods[rpc];
      compare(
        `${name}.${rpc}`,
        [last(inputType), last(outputType), serverStreaming === true],
        our && [our.requestType, our.responseType, our.responseStream === true],
      );
    }
  }
  return differences;
}
