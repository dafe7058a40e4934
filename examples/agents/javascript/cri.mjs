// @ts-check
/**
 * The calls of a container runtime (CRI) that a small node agent needs, with Node's own modules: gRPC is HTTP/2 with a
 * length before each message, and a message in protobuf is a list of numbered fields.
 */
import { connect } from "node:http2";
import { connect as connectSocket } from "node:net";

/**
 * A message by the numbers of its fields in the CRI's api.proto. A type is `string`, `number` (varints of every size), another
 * message, or one of them in a list.
 * @typedef {{[name: string]: [number, any]}} Message
 */

/** @type {Message} */ const Metadata = { name: [1, "string"], uid: [2, "string"], namespace: [3, "string"], attempt: [4, "number"] };
/** @type {Message} */ const SandboxConfig = { metadata: [1, Metadata], hostname: [2, "string"], log_directory: [3, "string"] };
/** @type {Message} */ const SandboxId = { pod_sandbox_id: [1, "string"] };
/** @type {Message} */ const Image = { image: [1, "string"] };
/** @type {Message} */ const ContainerId = { container_id: [1, "string"] };
/** @type {Message} */ const Container = {
  ...{ metadata: [1, { name: [1, "string"], attempt: [2, "number"] }], image: [2, Image] },
  ...{ command: [3, ["string"]], args: [4, ["string"]], working_dir: [5, "string"], log_path: [11, "string"] },
};
/** @type {Message} */ const Status = {
  ...{ id: [1, "string"], state: [3, "number"], started_at: [5, "number"], finished_at: [6, "number"] },
  ...{ exit_code: [7, "number"], image_ref: [9, "string"], reason: [10, "string"] },
};

/** The value of `state` for a container that runs, and for one that has ended. */
export const [RUNNING, EXITED] = [1, 2];

/** @type {{[method: string]: {service?: string, asks: Message, answers: Message}}} */
const CALLS = {
  RunPodSandbox: { asks: { config: [1, SandboxConfig] }, answers: SandboxId },
  StopPodSandbox: { asks: SandboxId, answers: {} },
  RemovePodSandbox: { asks: SandboxId, answers: {} },
  PodSandboxStatus: { asks: SandboxId, answers: { status: [1, { network: [5, { ip: [1, "string"] }] }] } },
  CreateContainer: {
    asks: { pod_sandbox_id: [1, "string"], config: [2, Container], sandbox_config: [3, SandboxConfig] },
    answers: ContainerId,
  },
  StartContainer: { asks: ContainerId, answers: {} },
  StopContainer: { asks: { container_id: [1, "string"], timeout: [2, "number"] }, answers: {} },
  ContainerStatus: { asks: ContainerId, answers: { status: [1, Status] } },
  PullImage: { service: "ImageService", asks: { image: [1, Image] }, answers: { image_ref: [1, "string"] } },
};

/** A container runtime that speaks gRPC `runtime.v1`. */
export class Cri {
  /** @type {import("node:http2").ClientHttp2Session | undefined} */
  #session;

  /** @param {string} endpoint `unix:///path` */
  constructor(endpoint) {
    this.path = endpoint.replace(/^unix:\/\//, "");
  }

  #connected() {
    if (this.#session === undefined || this.#session.closed || this.#session.destroyed) {
      this.#session = connect("http://localhost", { createConnection: () => connectSocket(this.path) });
      this.#session.on("error", () => {}); // each open call fails with it
    }
    return this.#session;
  }

  /**
   * @param {string} method @param {object} message
   * @returns {Promise<any>} rejects with the runtime's message
   */
  call(method, message) {
    const { service = "RuntimeService", asks, answers } = CALLS[method] ?? raise(`there is no call ${method}`);
    return new Promise((resolve, reject) => {
      const stream = this.#connected().request({
        ...{ ":method": "POST", ":path": `/runtime.v1.${service}/${method}` },
        ...{ "content-type": "application/grpc", te: "trailers" },
      });
      /** @type {Buffer[]} */
      const pieces = [];
      /** @type {import("node:http2").IncomingHttpHeaders} */
      let last = {};
      stream.on("response", (headers) => (last = { ...last, ...headers }));
      stream.on("trailers", (headers) => (last = { ...last, ...headers }));
      stream.on("data", (piece) => pieces.push(piece));
      stream.on("error", reject);
      stream.on("end", () => {
        const text = decodeURIComponent(String(last["grpc-message"] ?? ""));
        // A flag and the length come before the message.
        if (last["grpc-status"] === "0") resolve(decode(answers, Buffer.concat(pieces).subarray(5)));
        else reject(new Error(`${method}: ${text || `status ${last["grpc-status"]}`}`));
      });
      const body = encode(asks, message);
      const head = Buffer.alloc(5);
      head.writeUInt32BE(body.length, 1);
      stream.end(Buffer.concat([head, body]));
    });
  }
}

/** @param {string} why @returns {never} */
function raise(why) {
  throw new Error(why);
}

/** @param {Message} fields @param {any} value @returns {Buffer} */
function encode(fields, value) {
  const parts = Object.entries(fields).flatMap(([name, [number, type]]) => {
    const given = value[name];
    if (given === undefined) return [];
    const isList = Array.isArray(type);
    return (isList ? given : [given]).map((/** @type {any} */ one) => encodeField(number, isList ? type[0] : type, one));
  });
  return Buffer.concat(parts);
}

/** @param {number} number @param {any} type @param {any} value */
function encodeField(number, type, value) {
  if (type === "number") return Buffer.concat([varint(number * 8), varint(value)]);
  const bytes = type === "string" ? Buffer.from(value) : encode(type, value);
  return Buffer.concat([varint(number * 8 + 2), varint(bytes.length), bytes]);
}

/** @param {number} value */
function varint(value) {
  const bytes = [];
  for (; value > 127; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
}

/** Reads the fields that it knows; absent numbers are 0 and absent texts empty. @param {Message} fields @param {Buffer} bytes @returns {any} */
function decode(fields, bytes) {
  const known = new Map(Object.entries(fields).map(([name, [number, type]]) => [number, { name, type }]));
  /** @type {any} */
  const value = {};
  for (const [name, [, type]] of Object.entries(fields)) value[name] = type === "number" ? 0 : type === "string" ? "" : undefined;
  let at = 0;
  const next = () => {
    let [result, factor] = [0, 1];
    for (; ; factor *= 128) {
      const byte = bytes[at++] ?? 0;
      result += (byte % 128) * factor;
      if (byte < 128) return result;
    }
  };
  while (at < bytes.length) {
    const key = next();
    const field = known.get(Math.floor(key / 8));
    if (key % 8 === 0) {
      const number = next();
      if (field) value[field.name] = number;
    } else if (key % 8 === 2) {
      const length = next();
      const part = bytes.subarray(at, (at += length));
      if (field) value[field.name] = field.type === "string" ? part.toString() : decode(field.type, part);
    } else at += key % 8 === 1 ? 8 : 4;
  }
  return value;
}
