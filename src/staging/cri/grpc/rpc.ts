import type { FieldTable } from "../../apimachinery/protobuf/fields.js";
import type { Message } from "../../apimachinery/protobuf/message.js";

/** One rpc of a service. Requests are single messages in all of CRI; `isStream`: a stream of responses. */
export interface Rpc<Req extends FieldTable, Res extends FieldTable, Stream extends boolean = boolean> {
  /** as upstream writes it: `ListContainers` */
  readonly name: string;
  /** `runtime.v1.RuntimeService` */
  readonly service: string;
  /** the HTTP/2 path: `/runtime.v1.RuntimeService/ListContainers` */
  readonly path: string;
  readonly request: Message<Req>;
  readonly response: Message<Res>;
  readonly isStream: Stream;
}

export type UnaryRpc<Req extends FieldTable, Res extends FieldTable> = Rpc<Req, Res, false>;
export type StreamRpc<Req extends FieldTable, Res extends FieldTable> = Rpc<Req, Res, true>;
export type AnyRpc = Rpc<FieldTable, FieldTable>;

/** A service's rpcs, by the names of our functions: `listContainers`. */
export type Service = Readonly<Record<string, AnyRpc>>;

/** Makes the rows of one service's table. */
export function rpcsOf(service: string) {
  function unary<Req extends FieldTable, Res extends FieldTable>(
    name: string,
    request: Message<Req>,
    response: Message<Res>,
  ): UnaryRpc<Req, Res> {
    return { name, service, path: `/${service}/${name}`, request, response, isStream: false };
  }
  function stream<Req extends FieldTable, Res extends FieldTable>(
    name: string,
    request: Message<Req>,
    response: Message<Res>,
  ): StreamRpc<Req, Res> {
    return { name, service, path: `/${service}/${name}`, request, response, isStream: true };
  }
  return { unary, stream };
}

/** The same call of CRI v1alpha2, whose messages have the same fields. */
export function v1alpha2Of<R extends AnyRpc>(rpc: R): R {
  const service = rpc.service.replace("runtime.v1.", "runtime.v1alpha2.");
  return { ...rpc, service, path: `/${service}/${rpc.name}` };
}
